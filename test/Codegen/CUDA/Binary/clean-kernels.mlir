// What a loop carries twice stays, since to compare each two values takes long; else it is canonicalizer and CSE.
// RUN: tenon-opt %s --tenon-clean-kernels | FileCheck %s
// RUN: tenon-opt %s --canonicalize --cse | FileCheck %s --check-prefix=WITH

// CHECK-LABEL: func.func @accumulate
// CHECK-SAME: (%[[X:.*]]: f32, %[[N:.*]]: index)
// CHECK-NOT: arith.mulf
// CHECK: scf.for {{.*}} iter_args(%[[A:.*]] = %[[X]], %[[B:.*]] = %[[X]]) -> (f32, f32)
// CHECK-NEXT: %[[SUM:.*]] = arith.addf %[[A]], %[[B]]
// CHECK-NEXT: scf.yield %[[SUM]], %[[SUM]]
// WITH-LABEL: func.func @accumulate
// WITH: scf.for {{.*}} iter_args(%[[A:.*]] = %{{.*}}) -> (f32)
// WITH-NEXT: arith.addf %[[A]], %[[A]]
func.func @accumulate(%x: f32, %n: index) -> (f32, f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %unused = arith.mulf %x, %x : f32
  %sums:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x, %b = %x) -> (f32, f32) {
    %sum = arith.addf %a, %b : f32
    scf.yield %sum, %sum : f32, f32
  }
  return %sums#0, %sums#1 : f32, f32
}

// Kernels too.
// CHECK-LABEL: llvm.func @kernel(
// CHECK-NOT: arith.mulf
// CHECK: llvm.store
gpu.module @kernels {
  llvm.func @kernel(%x: f32, %y: !llvm.ptr) attributes {gpu.kernel, nvvm.kernel} {
    %unused = arith.mulf %x, %x : f32
    llvm.store %x, %y : f32, !llvm.ptr
    llvm.return
  }
}
