//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which two layers of one x one kernel can have, and why others cannot.
//
//===----------------------------------------------------------------------===//

#include "tenon/Schedule/Checks/LayerPair.h"

#include "tenon/Schedule/Checks/EpilogueObstacle.h"

using namespace mlir;
using namespace mlir::tenon;

/// What a layer reads, whatever stands beside it.
static Value lookThroughSplit(Value operand) {
  auto split = operand.getDefiningOp<WithSplitOp>();
  return split ? lookThroughSplit(split.getX()) : operand;
}

BlockArgument LayerPair::getGateArgument() const {
  FusedLinearOp op = layer;
  LinearLikeOp of = gate;
  for (OpOperand &operand : op.getEpilogueOperandsMutable())
    if (operand.get().getDefiningOp() == of)
      return op.getArgumentOf(operand);
  return {};
}

LayerPair tenon::findPair(LinearLikeOp op) {
  auto layer = dyn_cast<FusedLinearOp>(op.getOperation());
  if (!layer)
    return {};
  for (Value operand : layer.getEpilogueOperands())
    if (auto gate = operand.getDefiningOp<LinearLikeOp>();
        gate && gate->getBlock() == layer->getBlock() &&
        lookThroughSplit(gate.getX()) == lookThroughSplit(op.getX()))
      return {layer, gate};
  return {};
}

LayerPair tenon::findPairOfGate(LinearLikeOp op) {
  if (!op->hasOneUse())
    return {};
  auto user = dyn_cast<LinearLikeOp>(*op->user_begin());
  LayerPair pair = user ? findPair(user) : LayerPair();
  return pair && pair.gate == op ? pair : LayerPair();
}

/// What both epilogues are together: the gate's result is read and written by
/// neither any more.
static EpilogueLength getLength(const LayerPair &pair) {
  EpilogueLength length;
  length.add(FusedLinearOp(pair.layer));
  length.add(pair.gate);
  length.matrices -= 2;
  return length;
}

std::optional<Reason> tenon::findPairObstacle(const LayerPair &pair) {
  LinearLikeOp layer = FusedLinearOp(pair.layer), gate = pair.gate;
  if (!gate->hasOneUse())
    return Reason(ReasonCode::GateReadElsewhere);
  if (gate.getLayout() || layer.getLayout())
    return Reason(ReasonCode::PairIsTransposed);
  if (gate.getW().getType() != layer.getW().getType() ||
      gate.getProductType() != layer.getProductType() ||
      gate->getResultTypes().front() != pair.getGateArgument().getType())
    return Reason(ReasonCode::PairOfOtherTypes);
  if (gate.getPrecision() != layer.getPrecision())
    return Reason(ReasonCode::PairOfOtherPrecision);
  for (LinearLikeOp op : {layer, gate})
    if (auto obstacle = findEpilogueObstacle(op))
      return obstacle;
  return getLength(pair).findObstacle();
}
