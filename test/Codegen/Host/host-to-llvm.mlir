// RUN: tenon-opt %s --tenon-host-to-llvm --reconcile-unrealized-casts | FileCheck %s

// A copy runs on the call's stream, as many bytes as the extents say.
// CHECK:       llvm.func @tenonCopy(!llvm.ptr, !llvm.ptr, !llvm.ptr, i64)
// CHECK-LABEL: llvm.func @copy(
// CHECK-SAME:    %[[CALL:[^:]*]]: !llvm.ptr
// CHECK:         %[[BYTES:.*]] = llvm.mul
// CHECK:         llvm.call @tenonCopy(%[[CALL]], %{{.*}}, %{{.*}}, %[[BYTES]])
// CHECK-NOT:     {{memref|func}}.
func.func @copy(%call: !llvm.ptr, %a: memref<8xf32>, %b: memref<8xf32>) {
  memref.copy %a, %b : memref<8xf32> to memref<8xf32>
  return
}

// What has gaps is copied by its extents and strides, from its first element on.
// CHECK-LABEL: llvm.func @copy_slice(
// CHECK-SAME:    %[[CALL:[^:]*]]: !llvm.ptr
// CHECK:         %[[COUNT:.*]] = llvm.mlir.constant(6 : i64)
// CHECK:         %[[LAYOUT:.*]] = llvm.alloca %[[COUNT]] x i64
// CHECK:         %[[OFFSET:.*]] = llvm.mlir.constant(3 : index)
// CHECK:         %[[SOURCE:.*]] = llvm.getelementptr %{{.*}}[%[[OFFSET]]] : (!llvm.ptr, i64) -> !llvm.ptr, f32
// CHECK:         %[[BYTES:.*]] = llvm.mlir.constant(4 : i64)
// CHECK-COUNT-6: llvm.store %{{.*}} : i64, !llvm.ptr
// CHECK:         %[[RANK:.*]] = llvm.mlir.constant(2 : i64)
// CHECK:         llvm.call @tenonCopyStrided(%[[CALL]], %{{.*}}, %[[SOURCE]], %[[BYTES]], %[[RANK]], %[[LAYOUT]])
func.func @copy_slice(%call: !llvm.ptr, %a: memref<4x8xf32, strided<[16, 1], offset: 3>>, %b: memref<4x8xf32>) {
  memref.copy %a, %b : memref<4x8xf32, strided<[16, 1], offset: 3>> to memref<4x8xf32>
  return
}

// Rows of a matrix have an offset alone.
// CHECK-LABEL: llvm.func @copy_rows(
// CHECK:         %[[OFFSET:.*]] = llvm.mlir.constant(32 : index)
// CHECK:         %[[SOURCE:.*]] = llvm.getelementptr %{{.*}}[%[[OFFSET]]] : (!llvm.ptr, i64) -> !llvm.ptr, f32
// CHECK:         llvm.call @tenonCopy(%{{.*}}, %{{.*}}, %[[SOURCE]], %{{.*}})
func.func @copy_rows(%call: !llvm.ptr, %a: memref<4x8xf32, strided<[8, 1], offset: 32>>, %b: memref<4x8xf32>) {
  memref.copy %a, %b : memref<4x8xf32, strided<[8, 1], offset: 32>> to memref<4x8xf32>
  return
}

// Each i1 takes a byte.
// CHECK-LABEL: llvm.func @copy_bits(
// CHECK:         llvm.mlir.constant(1 : i64)
// CHECK:         llvm.call @tenonCopyStrided(
func.func @copy_bits(%call: !llvm.ptr, %a: memref<4x8xi1, strided<[16, 1], offset: 3>>, %b: memref<4x8xi1>) {
  memref.copy %a, %b : memref<4x8xi1, strided<[16, 1], offset: 3>> to memref<4x8xi1>
  return
}

// Threads may have little stack: what is large is memory of the thread, each buffer of a function its own.
// CHECK-LABEL: llvm.func @large_buffers(
// CHECK:         llvm.call @tenonScratch(%[[ZERO:.*]], %[[BYTES:.*]]) : (i64, i64) -> !llvm.ptr
// CHECK:         llvm.alloca
// CHECK:         llvm.call @tenonScratch(
func.func @large_buffers(%f: f64, %i: index) -> (f64, f64, f64) {
  %a = memref.alloca() {alignment = 64 : i64} : memref<96x256xf64>
  %b = memref.alloca() : memref<64xf64>
  %c = memref.alloca() : memref<32x256xf64>
  %0 = memref.load %a[%i, %i] : memref<96x256xf64>
  %1 = memref.load %b[%i] : memref<64xf64>
  %2 = memref.load %c[%i, %i] : memref<32x256xf64>
  return %0, %1, %2 : f64, f64, f64
}
