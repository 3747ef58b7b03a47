//===- NormaliseByInputMoments.h - Batch norm by x and w -------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_PRODUCTS_NORMALISEBYINPUTMOMENTS_H
#define TENON_LIB_CODEGEN_CUDA_PRODUCTS_NORMALISEBYINPUTMOMENTS_H

#include "tenon/Dialect/Tenon/IR/Tenon.h"

namespace mlir::tenon {

/// Has `op`, for which `findReductionProblem` finds none, normalise by given
/// statistics: those of x w^T, which follow from x and w. What the region does
/// to the product before its batch norm is done to the statistics, and is left
/// of the region only where something else reads it. Returns the layer that
/// `op` is replaced by.
///
///   %y:3 = tenon.fused_linear %x, %w ... {
///     %1 = tenon.mul %acc, %scale
///     %2:3 = tenon.batch_norm_training %1 running(%rm, %rv)
///     tenon.yield %2#0, %2#1, %2#2
///   }
/// ->
///   %m:3 = tenon.product_moments %x, %w
///   %s:4 = tenon.epilogue ins(%m#0, %m#1, %m#2, %scale, %rm, %rv) ... {
///     ... the mean of %acc, scale / sqrt(variance of %1 + eps), the new
///     statistics
///   }
///   %y = tenon.fused_linear %x, %w ... {
///     %1 = tenon.sub %acc, %s#0
///     %2 = tenon.mul %1, %s#1
///     tenon.yield %2
///   }
FusedLinearOp normaliseByInputMoments(FusedLinearOp op, RewriterBase &rewriter);

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_PRODUCTS_NORMALISEBYINPUTMOMENTS_H
