// REQUIRES: ptxas
// RUN: not tenon-opt %s --tenon-serialize-kernels=targets=sm_90a 2>&1 | FileCheck %s --implicit-check-not="Stack dump"

// What LLVM's back end cannot compile is a message and an exit code, no crash.
// CHECK: tenon-opt: error: unsupported library call operation
gpu.module @kernels {
  llvm.func @add(%p: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel} {
    %0 = llvm.load %p : !llvm.ptr<1> -> f128
    %1 = llvm.fadd %0, %0 : f128
    llvm.store %1, %p : f128, !llvm.ptr<1>
    llvm.return
  }
}
