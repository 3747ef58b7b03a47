//===- Ptxas.h - PTX to cubins and fat binaries ----------------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_BINARY_PTXAS_H
#define TENON_LIB_CODEGEN_CUDA_BINARY_PTXAS_H

#include "tenon/Codegen/CUDA/Binary/CompileKernels.h"
#include "tenon/Codegen/CUDA/Binary/Toolkit.h"

namespace mlir::tenon {

/// Reads what `ptxas -v` wrote: what each kernel needs, spilled bytes included.
/// A warning that an optimisation was given up (C75xx) is an error.
llvm::Expected<std::vector<KernelResources>>
parsePtxasLog(llvm::StringRef log, llvm::StringRef target);

/// Assembles PTX for one target: the cubin, and what its kernels need.
llvm::Expected<std::pair<std::string, std::vector<KernelResources>>>
assemble(const Toolkit &toolkit, const TemporaryFolder &folder,
         llvm::StringRef target, llvm::StringRef ptx);

/// Joins all cubins, and the PTX of `kernels.ptxTarget` if it is not empty.
llvm::Expected<std::string> createFatbin(const Toolkit &toolkit,
                                         const TemporaryFolder &folder,
                                         const CompiledKernels &kernels);

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_BINARY_PTXAS_H
