//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which layers' products one kernel can add up, and why others it cannot.
//
//===----------------------------------------------------------------------===//

#include "tenon/Schedule/Checks/LayerSum.h"

#include "tenon/Schedule/Checks/EpilogueObstacle.h"

using namespace mlir;
using namespace mlir::tenon;

SmallVector<RankedTensorType> LayerSum::getSavedTypes() const {
  SmallVector<RankedTensorType> types;
  for (LinearLikeOp layer : ArrayRef(layers).drop_back())
    types.append(2, cast<RankedTensorType>(layer->getResult(0).getType()));
  return types;
}

/// The addition that alone reads an argument of a layer's region, or null.
static AddOp getAddition(BlockArgument argument) {
  return argument.hasOneUse() ? dyn_cast<AddOp>(*argument.user_begin())
                              : AddOp();
}

AddOp tenon::findAddition(FusedLinearOp op, LinearLikeOp added) {
  for (OpOperand &operand : op.getEpilogueOperandsMutable())
    if (operand.get().getDefiningOp() == added)
      return getAddition(op.getArgumentOf(operand));
  return {};
}

LinearLikeOp tenon::findAddedLayer(LinearLikeOp op) {
  auto fused = dyn_cast<FusedLinearOp>(op.getOperation());
  if (!fused)
    return {};
  for (OpOperand &operand : fused.getEpilogueOperandsMutable())
    if (auto added = operand.get().getDefiningOp<LinearLikeOp>();
        added && added->getBlock() == op->getBlock() &&
        added.getProductType().getShape() == op.getProductType().getShape() &&
        getAddition(fused.getArgumentOf(operand)))
      return added;
  return {};
}

/// What comes between the product and `until` beside additions, if anything:
/// another op, or a second one that reads what is added up so far.
static std::optional<Reason> findBetween(FusedLinearOp op, Operation *until) {
  Value value = op.getAccumulator();
  while (true) {
    for (Operation *user : value.getUsers())
      if (user != until && (!value.hasOneUse() || !isa<AddOp>(user) ||
                            user->getResult(0).getType() != value.getType()))
        return Reason(ReasonCode::SumBehindOthers,
                      user->getName().getStringRef());
    if (!value.hasOneUse())
      return Reason(ReasonCode::SumReadElsewhere);
    if (*value.user_begin() == until)
      return std::nullopt;
    value = (*value.user_begin())->getResult(0);
  }
}

std::optional<Reason> tenon::findSumObstacle(LinearLikeOp op) {
  auto layer = cast<FusedLinearOp>(op.getOperation());
  LinearLikeOp added = findAddedLayer(op);
  if (added->getNumResults() != 1 || !added->hasOneUse())
    return Reason(ReasonCode::SumReadElsewhere);
  if (added.getLayout() != op.getLayout())
    return Reason(ReasonCode::SumLiesOtherwise);
  if (added.getProductType() != op.getProductType() ||
      added->getResult(0).getType() != op.getProductType() ||
      added.getInputType() != op.getInputType())
    return Reason(ReasonCode::PairOfOtherTypes);
  if (added.getPrecision() != op.getPrecision())
    return Reason(ReasonCode::PairOfOtherPrecision);
  if (findScaledOperands(op) || findScaledOperands(added))
    return Reason(ReasonCode::PairOfBlocks);
  if (auto reason = findBetween(layer, findAddition(layer, added)))
    return reason;
  if (auto fused = dyn_cast<FusedLinearOp>(added.getOperation()))
    if (auto reason = findBetween(fused, fused.getYield()))
      return reason;
  EpilogueLength length;
  for (LinearLikeOp each : {op, added}) {
    if (auto obstacle = findEpilogueObstacle(each))
      return obstacle;
    length.add(each);
  }
  length.matrices -= 2;
  return length.findObstacle();
}

LayerSum tenon::findSum(LinearLikeOp op, int64_t maxTerms) {
  LayerSum sum{{op}};
  for (LinearLikeOp added = findAddedLayer(op);
       added && std::ssize(sum.layers) < maxTerms && !findSumObstacle(op);
       op = added, added = findAddedLayer(op))
    sum.layers.insert(sum.layers.begin(), added);
  return sum;
}
