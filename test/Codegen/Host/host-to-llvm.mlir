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
