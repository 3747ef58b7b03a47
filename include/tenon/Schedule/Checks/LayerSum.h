//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which layers' products one kernel can add up: what several layers give x's
// gradient, LoRA's second product, a layer of two inputs.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_SCHEDULE_CHECKS_LAYERSUM_H
#define TENON_SCHEDULE_CHECKS_LAYERSUM_H

#include "tenon/Dialect/Tenon/IR/Tenon.h"
#include "tenon/Remarks/Reason.h"

namespace mlir::tenon {

/// Products that a kernel adds up at most: each has two tensor maps.
inline constexpr int64_t kMaxTerms = 4;

/// Layers of which each but the first has what the one before it gives as an
/// operand of its epilogue, and adds it to its product:
///
/// ```mlir
/// %p = tenon.linear %x1, %w1 ...
/// %y = tenon.fused_linear %x0, %w0 ...
///     epilogue(%acc: ..., %q = %p: ...) {tenon.add %acc, %q ...}
/// ```
struct LayerSum {
  SmallVector<LinearLikeOp> layers; ///< in their order

  explicit operator bool() const { return layers.size() > 1; }
  LinearLikeOp getLast() const { return layers.back(); }
  /// What a kernel of all neither writes nor reads: the results of all but the
  /// last, and the operands.
  SmallVector<RankedTensorType> getSavedTypes() const;
};

/// The layer whose result `op` adds to its product, one of another x; null if
/// there is none.
LinearLikeOp findAddedLayer(LinearLikeOp op);

/// What keeps one kernel from adding up the products of `op` and of
/// `findAddedLayer(op)`, whatever its schedule.
std::optional<Reason> findSumObstacle(LinearLikeOp op);

/// The sum of which `op` is the last layer, with at most so many layers; false
/// if it is of none.
LayerSum findSum(LinearLikeOp op, int64_t maxTerms = kMaxTerms);

/// The op in `op`'s epilogue that adds what `added` gives.
AddOp findAddition(FusedLinearOp op, LinearLikeOp added);

} // namespace mlir::tenon

#endif // TENON_SCHEDULE_CHECKS_LAYERSUM_H
