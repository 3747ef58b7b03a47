// RUN: tenon-opt %s --tenon-serialize-kernels=targets=sm_90a --verify-diagnostics

// What LLVM has no place for is refused.
gpu.module @kernels {
  // expected-error @below {{stands outside of a function; a gpu.module that is compiled has functions and globals alone}}
  nvvm.barrier0
  llvm.func @empty() attributes {gpu.kernel, nvvm.kernel} {
    llvm.return
  }
}
