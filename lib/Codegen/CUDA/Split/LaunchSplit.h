//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The host's part of a split.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_SPLIT_LAUNCHSPLIT_H
#define TENON_LIB_CODEGEN_CUDA_SPLIT_LAUNCHSPLIT_H

#include "tenon/Dialect/Tenon/IR/Tenon.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace mlir::tenon {

/// Replaces a split on memrefs by a kernel for aligned pointers, one for
/// others, and their launches.
LogicalResult lowerSplit(SplitOp op, gpu::GPUModuleOp module,
                         SmallVectorImpl<Attribute> &kernels);

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_SPLIT_LAUNCHSPLIT_H
