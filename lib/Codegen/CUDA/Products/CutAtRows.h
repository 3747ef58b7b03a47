//===- CutAtRows.h - A layer that reduces rows, as two ---------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_PRODUCTS_CUTATROWS_H
#define TENON_LIB_CODEGEN_CUDA_PRODUCTS_CUTATROWS_H

#include "tenon/Dialect/Tenon/IR/Tenon.h"

namespace mlir::tenon {

/// Cuts `op`, for which `findRowPartsProblem` finds none, at its reductions of
/// rows. Returns a layer that gives what they are for each `columns` columns;
/// `op` is replaced by a `tenon.epilogue` that reduces that.
///
///   %y = tenon.fused_linear ... {      %0 = tenon.fused_linear ... {
///     %1 = tenon.relu %acc               %1 = tenon.relu %acc
///     %2 = tenon.reduce_row mean %1  ->  %2 = tenon.reduce_row sum %1
///     %3 = tenon.silu %2                 %3 = tenon.row_parts %2 {columns =
///     256} tenon.yield %3                     tenon.yield %3
///   }                                  }
///                                      %y = tenon.epilogue ins(%p = %0) ... {
///                                        %4 = tenon.reduce_row sum %p
///                                        %5 = tenon.div %4, N
///                                        %6 = tenon.silu %5
///                                        tenon.yield %6
///                                      }
///
/// The verifier does not know such a layer: it has to become a
/// `tenon.tiled_linear`.
FusedLinearOp cutAtRows(FusedLinearOp op, int64_t columns,
                        RewriterBase &rewriter);

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_PRODUCTS_CUTATROWS_H
