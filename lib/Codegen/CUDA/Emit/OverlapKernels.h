//===- OverlapKernels.h - Kernels that begin early -------------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_EMIT_OVERLAPKERNELS_H
#define TENON_LIB_CODEGEN_CUDA_EMIT_OVERLAPKERNELS_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::tenon {

/// On an op of a kernel's outermost block: the kernel waits there and not at
/// its start, since before it reads only what the kernel launched before it
/// does not write (unit attribute).
inline constexpr llvm::StringLiteral kWaitsHereAttr = "waits_here";

/// Where a kernel of `kernels` already starts while the one before it ends
/// (programmatic dependent launch, which only some targets have), has all
/// others do so too: each waits before its first access to memory, and
/// `module`'s launches say that it does.
void overlapKernels(gpu::GPUModuleOp kernels, ModuleOp module);

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_EMIT_OVERLAPKERNELS_H
