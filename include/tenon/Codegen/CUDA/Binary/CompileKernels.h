//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From gpu.modules to PTX, cubins and a fatbin. tenon-compile's interface to
// the CUDA target (lib/Pipelines/Compiler.cpp uses it).
//
//===----------------------------------------------------------------------===//

#ifndef TENON_CODEGEN_CUDA_BINARY_COMPILEKERNELS_H
#define TENON_CODEGEN_CUDA_BINARY_COMPILEKERNELS_H

#include "mlir/IR/BuiltinOps.h"

#include <future>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mlir::tenon {

/// What ptxas says of one kernel on one architecture.
struct KernelResources {
  std::string kernel, target;
  unsigned registers = 0;
  uint64_t sharedBytes = 0;
  uint64_t spilledBytes = 0; ///< of registers, by each thread
};

struct CompiledKernels {
  std::map<std::string, std::string> ptx;   ///< text, by target
  std::map<std::string, std::string> cubin; ///< by target
  std::string fatbin;    ///< all cubins, and PTX for later GPUs
  std::string ptxTarget; ///< architecture of the fatbin's PTX
  std::vector<KernelResources> resources;
};

/// Registers LLVM's back end for GPUs, once; no other may be at the same time.
void initializePtx();

/// Kernels on their way to machine code, on other threads: host code can be
/// compiled meanwhile. Its destructor waits for them.
class KernelCompilation {
public:
  /// Begins to compile the kernels of `module`'s gpu.module, which is left as
  /// it is, for each target. Nothing is compiled where there is no kernel.
  static FailureOr<KernelCompilation> begin(ModuleOp module,
                                            ArrayRef<std::string> targets);

  /// Waits for the kernels; may be called once. Fails with a diagnostic where
  /// ptxas is missing, fails, or serialises a tensor-core instruction (C75xx).
  /// A kernel that spills registers is a missed remark of category
  /// tenon-kernels.
  FailureOr<CompiledKernels> finish();

private:
  explicit KernelCompilation(Location loc) : loc(loc) {}

  struct Result {
    CompiledKernels kernels;
    std::optional<std::string> error;
  };

  Location loc;
  std::future<Result> result; ///< none where there is no kernel or no target
};

} // namespace mlir::tenon

#endif // TENON_CODEGEN_CUDA_BINARY_COMPILEKERNELS_H
