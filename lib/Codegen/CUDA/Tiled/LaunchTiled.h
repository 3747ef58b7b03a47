//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A linear layer and its epilogue as one kernel, and its launch.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_LAUNCHTILED_H
#define TENON_LIB_CODEGEN_CUDA_TILED_LAUNCHTILED_H

#include "tenon/Dialect/Tenon/IR/Tenon.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace mlir::tenon {

/// Replaces `op`, on memrefs, by the launch of its kernel, or of a simpler one
/// where a pointer is not aligned to 16 bytes. Appends the kernels' names to
/// `kernels`.
LogicalResult lowerTiledLinear(TiledLinearOp op, gpu::GPUModuleOp module,
                               SmallVectorImpl<Attribute> &kernels);

/// Checks that a kernel can compute `op`.
LogicalResult checkTiled(TiledLinearOp op);

/// Replaces `op`, of one weight and without reductions, by the launch of the
/// simpler kernel.
void lowerUnaligned(TiledLinearOp op, gpu::GPUModuleOp module,
                    SmallVectorImpl<Attribute> &kernels);

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_LAUNCHTILED_H
