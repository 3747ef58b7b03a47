//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which two layers of one x one kernel can have: gated units such as SwiGLU.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_SCHEDULE_CHECKS_LAYERPAIR_H
#define TENON_SCHEDULE_CHECKS_LAYERPAIR_H

#include "tenon/Dialect/Tenon/IR/Tenon.h"
#include "tenon/Remarks/Reason.h"

namespace mlir::tenon {

/// Two layers that read one x. Results of the gate are operands of the other's
/// epilogue:
///
/// ```mlir
/// %gate = tenon.fused_linear %x, %w1 ... {tenon.silu %acc ...}
/// %y = tenon.fused_linear %x, %w0 ...
///     epilogue(%acc: ..., %g = %gate: ...) {tenon.mul %acc, %g ...}
/// ```
struct LayerPair {
  FusedLinearOp layer;
  LinearLikeOp gate;

  explicit operator bool() const { return layer != nullptr; }
  /// The operands of the layer's epilogue that are results of the gate.
  SmallVector<OpOperand *> getGateOperands() const;
  /// The results of the gate that something else reads, which a kernel of both
  /// stores behind the layer's own.
  SmallVector<OpResult> getKeptResults() const;
  /// What such a kernel neither writes nor reads of the gate's results: those
  /// that are not kept, and the operands.
  SmallVector<RankedTensorType> getSavedTypes() const;
};

/// The pair of which `op` is the layer, or one that could be but for an
/// obstacle; null if its epilogue has no operand that a layer of one x gives.
LayerPair findPair(LinearLikeOp op);

/// The pair of which `op` is the gate; null if there is none.
LayerPair findPairOfGate(LinearLikeOp op);

/// What keeps one kernel from computing both, whatever its schedule.
std::optional<Reason> findPairObstacle(const LayerPair &pair);

} // namespace mlir::tenon

#endif // TENON_SCHEDULE_CHECKS_LAYERPAIR_H
