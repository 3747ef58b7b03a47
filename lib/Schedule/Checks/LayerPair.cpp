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

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::tenon;

/// What a layer reads, whatever stands beside it.
static Value lookThroughSplit(Value operand) {
  auto split = operand.getDefiningOp<WithSplitOp>();
  return split ? lookThroughSplit(split.getX()) : operand;
}

SmallVector<OpOperand *> LayerPair::getGateOperands() const {
  SmallVector<OpOperand *> found;
  Operation *of = gate;
  for (OpOperand &operand : FusedLinearOp(layer).getEpilogueOperandsMutable())
    if (operand.get().getDefiningOp() == of)
      found.push_back(&operand);
  return found;
}

SmallVector<OpResult> LayerPair::getKeptResults() const {
  SmallVector<OpResult> kept;
  Operation *reader = layer;
  for (OpResult result : LinearLikeOp(gate)->getResults())
    if (llvm::any_of(result.getUsers(),
                     [&](Operation *user) { return user != reader; }))
      kept.push_back(result);
  return kept;
}

SmallVector<RankedTensorType> LayerPair::getSavedTypes() const {
  SmallVector<RankedTensorType> types;
  for (OpOperand *operand : getGateOperands())
    types.push_back(cast<RankedTensorType>(operand->get().getType()));
  SmallVector<OpResult> kept = getKeptResults();
  for (OpResult result : LinearLikeOp(gate)->getResults())
    if (!llvm::is_contained(kept, result))
      types.push_back(cast<RankedTensorType>(result.getType()));
  return types;
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

/// The pairs of which `op` is the gate: one that has a kernel, or several
/// layers of which none has.
static SmallVector<LayerPair> listPairsOfGate(LinearLikeOp op) {
  SmallVector<LayerPair> pairs;
  llvm::SmallSetVector<Operation *, 4> users(op->user_begin(), op->user_end());
  for (Operation *user : users)
    if (auto layer = dyn_cast<LinearLikeOp>(user))
      if (LayerPair pair = findPair(layer); pair && pair.gate == op)
        pairs.push_back(pair);
  return pairs;
}

LayerPair tenon::findPairOfGate(LinearLikeOp op) {
  SmallVector<LayerPair> pairs = listPairsOfGate(op);
  return pairs.size() == 1 ? pairs.front() : LayerPair();
}

/// What both epilogues are together.
static EpilogueLength getLength(const LayerPair &pair) {
  EpilogueLength length;
  length.add(FusedLinearOp(pair.layer));
  length.add(pair.gate);
  length.matrices -= pair.getSavedTypes().size();
  return length;
}

/// Whether something reads a result of the gate before the kernel of both could
/// have written it.
static bool isReadBefore(const LayerPair &pair) {
  Operation *layer = FusedLinearOp(pair.layer);
  return llvm::any_of(
      LinearLikeOp(pair.gate)->getUsers(), [&](Operation *user) {
        Operation *inBlock = layer->getBlock()->findAncestorOpInBlock(*user);
        return !inBlock || inBlock->isBeforeInBlock(layer);
      });
}

std::optional<Reason> tenon::findPairObstacle(const LayerPair &pair) {
  LinearLikeOp layer = FusedLinearOp(pair.layer), gate = pair.gate;
  if (listPairsOfGate(gate).size() != 1)
    return Reason(ReasonCode::GateOfSeveral);
  if (isReadBefore(pair))
    return Reason(ReasonCode::GateReadBefore);
  if (gate.getLayout() || layer.getLayout())
    return Reason(ReasonCode::PairIsTransposed);
  if (gate.getW().getType() != layer.getW().getType() ||
      gate.getProductType() != layer.getProductType())
    return Reason(ReasonCode::PairOfOtherTypes);
  if (gate.getPrecision() != layer.getPrecision())
    return Reason(ReasonCode::PairOfOtherPrecision);
  if (findScaledOperands(layer) || findScaledOperands(gate))
    return Reason(ReasonCode::PairOfBlocks);
  for (LinearLikeOp op : {layer, gate})
    if (auto obstacle = findEpilogueObstacle(op))
      return obstacle;
  return getLength(pair).findObstacle();
}
