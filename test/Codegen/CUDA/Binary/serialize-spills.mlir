// REQUIRES: ptxas
// RUN: tenon-opt %s --tenon-serialize-kernels=targets=sm_80 | FileCheck %s

// A kernel that spills loses its wish for two blocks a multiprocessor; the one beside it keeps its own. Kernels that
// move registers between warpgroups need theirs: without it ptxas ignores setmaxnreg.

// CHECK: .entry wide(
// CHECK-NOT: .minnctapersm
// CHECK-SAME: .entry narrow(
// CHECK-SAME: .minnctapersm 2
gpu.module @kernels {
  llvm.func @wide(%p: !llvm.ptr<1>) attributes {
      gpu.kernel, nvvm.kernel, nvvm.minctasm = 2 : i32, nvvm.reqntid = array<i32: 1024>} {
    %0 = llvm.load volatile %p : !llvm.ptr<1> -> vector<64xf32>
    %1 = llvm.fmul %0, %0 : vector<64xf32>
    nvvm.barrier0
    llvm.store volatile %1, %p : vector<64xf32>, !llvm.ptr<1>
    llvm.return
  }
  llvm.func @narrow(%p: !llvm.ptr<1>) attributes {
      gpu.kernel, nvvm.kernel, nvvm.minctasm = 2 : i32, nvvm.reqntid = array<i32: 256>} {
    llvm.return
  }
}
