//===- CutAtReduction.h - A layer that reduces, as two ---------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_PRODUCTS_CUTATREDUCTION_H
#define TENON_LIB_CODEGEN_CUDA_PRODUCTS_CUTATREDUCTION_H

#include "tenon/Dialect/Tenon/IR/Tenon.h"

namespace mlir::tenon {

/// Cuts `op`, for which `findReductionProblem` finds none, at its reduction, a
/// batch norm or moments of the batch, or at its sums over it. Returns a layer
/// that gives what is stored (`getStored`) and the moments of each `rows` rows
/// of what is reduced; `op` is replaced by a `tenon.epilogue` that takes them,
/// in place where types allow.
///
///   %y = tenon.fused_linear ... {        %0:2 = tenon.fused_linear ... {
///     %1 = tenon.mul %acc ...              %1 = tenon.mul %acc ...
///     %2 = tenon.batch_norm_training %1    %2 = tenon.moments %1 {rows = 64}
///     %3 = tenon.relu %2              ->   tenon.yield %1, %2
///     tenon.yield %3                     }
///   }                                    %y = tenon.epilogue ins(%z = %0#0,
///                                                                %m = %0#1)
///                                                                ... {
///                                          %3 = tenon.batch_norm_training %z
///                                              moments(%m) {moment_rows = 64}
///                                          %4 = tenon.relu %3
///                                          tenon.yield %4
///                                        }
///
/// The verifier does not know such a layer: it has to become a
/// `tenon.tiled_linear`.
FusedLinearOp cutAtReduction(FusedLinearOp op, int64_t rows,
                             RewriterBase &rewriter);
} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_PRODUCTS_CUTATREDUCTION_H
