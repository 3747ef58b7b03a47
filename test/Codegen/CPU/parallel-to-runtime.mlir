// RUN: tenon-opt %s --tenon-parallel-to-runtime --canonicalize --split-input-file | FileCheck %s --implicit-check-not=scf.parallel

// CHECK: llvm.func @tenonParallelFor(!llvm.ptr, i64, !llvm.ptr)
// CHECK-LABEL: func.func @one_dimension(
// CHECK-SAME: %[[Y:[^:]*]]: memref<?xf32>, %[[V:[^:]*]]: f32, %[[N:[^:]*]]: index
// CHECK: %[[CONTEXT:.*]] = llvm.alloca {{.*}} !llvm.struct<([[FIELDS:.*]])>
// CHECK: llvm.store %[[V]], %{{.*}} : f32, !llvm.ptr
// CHECK: %[[COUNT:.*]] = arith.index_cast %[[N]] : index to i64
// CHECK: llvm.call @tenonParallelFor(%{{.*}}, %[[COUNT]], %[[CONTEXT]])
// CHECK: func.func private @one_dimension_parallel(%[[I:.*]]: i64, %[[C:.*]]: !llvm.ptr) attributes {llvm.linkage = #llvm.linkage<internal>}
// CHECK: %[[VALUE:.*]] = llvm.load %{{.*}} : !llvm.ptr -> f32
// CHECK: %[[BUFFER:.*]] = builtin.unrealized_conversion_cast {{.*}} to memref<?xf32>
// CHECK: %[[INDEX:.*]] = arith.index_cast %[[I]] : i64 to index
// CHECK: memref.store %[[VALUE]], %[[BUFFER]][%[[INDEX]]]
func.func @one_dimension(%y: memref<?xf32>, %v: f32, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    memref.store %v, %y[%i] : memref<?xf32>
  }
  return
}

// -----

// The last dimension runs fastest; bounds and steps count. Constants are not
// captured.

// CHECK-LABEL: func.func @two_dimensions(
// CHECK: %[[COUNT:.*]] = arith.constant 12 : i64
// CHECK: llvm.alloca {{.*}} !llvm.struct<(struct<(ptr, ptr, i64, array<2 x i64>, array<2 x i64>)>)>
// CHECK: llvm.call @tenonParallelFor(%{{.*}}, %[[COUNT]],
// CHECK-LABEL: func.func private @two_dimensions_parallel(
// CHECK: %[[I:.*]] = arith.index_cast
// CHECK-DAG: %[[REST:.*]] = arith.remui %[[I]], %c4
// CHECK-DAG: %[[ROW:.*]] = arith.divui %[[I]], %c4
// CHECK: %[[OFFSET:.*]] = arith.muli %[[REST]], %c2
// CHECK: %[[COLUMN:.*]] = arith.addi %[[OFFSET]], %c1
// CHECK: memref.store %{{.*}}, %{{.*}}[%[[ROW]], %[[COLUMN]]]
func.func @two_dimensions(%y: memref<3x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c8 = arith.constant 8 : index
  %v = arith.constant 1.0 : f32
  scf.parallel (%i, %j) = (%c0, %c1) to (%c3, %c8) step (%c1, %c2) {
    memref.store %v, %y[%i, %j] : memref<3x8xf32>
  }
  return
}

// -----

// A loop inside another is serial.

// CHECK-LABEL: func.func @nested(
// CHECK-COUNT-1: llvm.call @tenonParallelFor
// CHECK-LABEL: func.func private @nested_parallel(
// CHECK: scf.for
// CHECK: memref.store
func.func @nested(%y: memref<?x?xf32>, %v: f32, %m: index, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%i) = (%c0) to (%m) step (%c1) {
    scf.parallel (%j) = (%c0) to (%n) step (%c1) {
      memref.store %v, %y[%i, %j] : memref<?x?xf32>
    }
  }
  return
}
