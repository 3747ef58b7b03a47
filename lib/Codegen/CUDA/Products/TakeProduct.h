//===- TakeProduct.h - A layer as a product and the rest -------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_PRODUCTS_TAKEPRODUCT_H
#define TENON_LIB_CODEGEN_CUDA_PRODUCTS_TAKEPRODUCT_H

#include "tenon/Dialect/Tenon/IR/Tenon.h"

namespace mlir::tenon {

/// Cuts `op`, whose region no tile can compute, behind its product, or where
/// what the product is used for takes fewer bytes. Returns the layer ahead of
/// the cut; `op` is replaced by a `tenon.epilogue` of what it gives.
///
///   %y = tenon.fused_linear ... {      %0 = tenon.fused_linear ... {
///     %1 = tenon.mul %acc, %scales       %1 = tenon.mul %acc, %scales
///     %2 = tenon.cast %1                 %2 = tenon.cast %1
///     %3 = tenon.reduce_row max %2  ->   tenon.yield %2  // bf16
///     ...                              }
///     tenon.yield ...                  %y = tenon.epilogue ins(%z = %0) ... {
///   }                                    %3 = tenon.reduce_row max %z
///                                        ...
///                                        tenon.yield ...
///                                      }
FusedLinearOp takeProduct(FusedLinearOp op, RewriterBase &rewriter);

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_PRODUCTS_TAKEPRODUCT_H
