// RUN: tenon-opt %s --tenon-cpu-split --canonicalize --split-input-file | FileCheck %s

// Each row goes by twice, in vectors; the last one is read under a mask.

// CHECK-LABEL: func.func @two_parts(
// CHECK-SAME: %[[X:[^:]*]]: memref<?x44xf32>, %[[HALVES:[^:]*]]: memref<?x128xf16>, %[[FACTORS:[^:]*]]: memref<?x1xf32>
// CHECK: scf.parallel
// CHECK: scf.for %[[ROW:.*]] =
// CHECK: scf.for %{{.*}} = %c0 to %c40 step %c8 iter_args({{.*}}) -> (vector<8xi32>)
// CHECK: vector.load %[[X]][%[[ROW]]
// CHECK: arith.maxsi {{.*}} : vector<8xi32>
// CHECK: vector.maskedload %[[X]][%[[ROW]], %c40]
// CHECK: vector.reduction <maxsi>
// CHECK: scf.for %[[K:.*]] = %c0 to %c40 step %c8 iter_args({{.*}}) -> (vector<8xi32>)
// CHECK: arith.mulf %{{.*}}, %{{.*}} : vector<8xf32>
// CHECK: %[[HI:.*]] = arith.truncf %{{.*}} : vector<8xf32> to vector<8xf16>
// CHECK: %[[LO:.*]] = arith.truncf %{{.*}} : vector<8xf32> to vector<8xf16>
// CHECK: %[[GROUP:.*]] = arith.divui %[[K]], %c32
// CHECK: %[[BEFORE:.*]] = arith.muli %[[GROUP]], %c32
// CHECK: %[[COLUMN:.*]] = arith.addi %[[K]], %[[BEFORE]]
// CHECK: vector.store %[[HI]], %[[HALVES]][%[[ROW]], %[[COLUMN]]] : memref<?x128xf16>, vector<8xf16>
// CHECK: %[[NEXT:.*]] = arith.addi %[[COLUMN]], %c32
// CHECK: vector.store %[[LO]], %[[HALVES]][%[[ROW]], %[[NEXT]]] : memref<?x128xf16>, vector<8xf16>
// CHECK: vector.maskedload %[[X]][%[[ROW]], %c40]
// CHECK: vector.reduction <add>
// Columns beyond K.
// CHECK: scf.for %{{.*}} = %c48 to %c64 step %c8
// CHECK: arith.cmpi sgt, %{{.*}}, %c-64_i32
// CHECK: memref.store %{{.*}}, %[[FACTORS]][%[[ROW]], %c0]
// CHECK-NOT: fastmath
// CHECK-NOT: tenon.split
// CHECK: return
func.func @two_parts(%x: memref<?x44xf32>, %h: memref<?x128xf16>, %f: memref<?x1xf32>) {
  tenon.split %x outs(%h, %f) : (memref<?x44xf32>, memref<?x128xf16>, memref<?x1xf32>) -> ()
  return
}

// -----

// CHECK-LABEL: func.func @one_part(
// CHECK-SAME: %[[X:[^:]*]]: memref<9x16xf32>, %[[HALVES:[^:]*]]: memref<9x16xf16>
// CHECK: scf.for %[[ROW:.*]] =
// CHECK: %[[HI:.*]] = arith.truncf
// CHECK: vector.store %[[HI]], %[[HALVES]][%[[ROW]], %{{.*}}] : memref<9x16xf16>, vector<8xf16>
// CHECK-NOT: vector.store
// CHECK-NOT: masked
// CHECK: arith.cmpi sgt, %{{.*}}, %c0_i32
// CHECK: return
func.func @one_part(%x: memref<9x16xf32>, %h: memref<9x16xf16>, %f: memref<9x1xf32>) {
  tenon.split %x outs(%h, %f) : (memref<9x16xf32>, memref<9x16xf16>, memref<9x1xf32>) -> ()
  return
}
