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

#include "tenon/Dialect/Tenon/IR/EpilogueLimits.h"
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

/// Whether the epilogues of both are more than a tiled kernel takes: the gate's
/// result is read and written by neither any more.
static bool isTooLong(const LayerPair &pair) {
  auto isMatrix = [](Type type) {
    return cast<RankedTensorType>(type).getRank() == 2;
  };
  size_t matrices = 0, ops = 0, heavyOps = 0;
  for (LinearLikeOp op : {LinearLikeOp(FusedLinearOp(pair.layer)), pair.gate}) {
    matrices += llvm::count_if(op.getEpilogueInputs().getTypes(), isMatrix) +
                llvm::count_if(op->getResultTypes(), isMatrix);
    if (Block *body = op.getEpilogueBody()) {
      ops += body->getOperations().size();
      heavyOps += llvm::count_if(*body, [](Operation &inner) {
        return inner.hasTrait<OpTrait::tenon::Transcendental>();
      });
    }
  }
  return matrices - 2 > kMaxTiledOperands || ops > kMaxEpilogueOps ||
         heavyOps > kMaxTiledHeavyOps;
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
  if (findScaledOperands(layer) || findScaledOperands(gate))
    return Reason(ReasonCode::PairOfBlocks);
  for (LinearLikeOp op : {layer, gate})
    if (auto obstacle = findEpilogueObstacle(op))
      return obstacle;
  if (isTooLong(pair))
    return Reason(ReasonCode::LongEpilogue, kMaxTiledOperands,
                  kMaxTiledHeavyOps);
  return std::nullopt;
}
