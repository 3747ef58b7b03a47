//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which loops are rows and columns, and what operands are by them.
//
//===----------------------------------------------------------------------===//

#include "Raiser.h"

#include "mlir/Support/DebugStringHelper.h"

using namespace mlir;
using namespace mlir::tenon;

SmallVector<Value> Raiser::run() {
  if (!op.hasPureTensorSemantics() || op->getNumResults() == 0)
    return refuse(ReasonCode::NotOnTensors), SmallVector<Value>();
  if (linalg::isaContractionOpInterface(op))
    return raiseProduct();
  if (op.getNumReductionLoops() != 0)
    return raiseReduction();
  return raiseElementwise();
}

std::optional<Raiser::Loops> Raiser::getLoops() {
  Loops loops, ones;
  for (auto [loop, extent] : llvm::enumerate(op.getStaticLoopRanges()))
    (extent == 1 ? ones : loops).push_back(loop);
  if (loops.size() > 2) {
    refuse(ReasonCode::MoreThanMatrix);
    return std::nullopt;
  }
  while (loops.size() < 2 && !ones.empty())
    loops.push_back(ones.pop_back_val());
  llvm::sort(loops);
  return loops;
}

SmallVector<int64_t> Raiser::getShape(ArrayRef<unsigned> loops) {
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  return llvm::map_to_vector(loops,
                             [&](unsigned loop) { return extents[loop]; });
}

Value Raiser::arrange(View view, ArrayRef<unsigned> loops) {
  view = lookThrough(view);
  auto type = cast<RankedTensorType>(view.tensor.getType());
  // Where each dimension that `loops` run over lies in them.
  SmallVector<std::pair<unsigned, unsigned>> kept;
  for (auto [dim, index] : llvm::enumerate(view.map.getResults())) {
    auto loop = dyn_cast<AffineDimExpr>(index);
    const unsigned *place =
        loop ? llvm::find(loops, loop.getPosition()) : loops.end();
    if (place != loops.end())
      kept.emplace_back(dim, place - loops.begin());
    else if (type.getDimSize(dim) != 1)
      return refuse(ReasonCode::OtherOrder);
  }
  for (unsigned i = 1; i < kept.size(); ++i)
    if (kept[i - 1].second >= kept[i].second)
      return refuse(ReasonCode::OtherOrder);
  unsigned missing = loops.size() - type.getRank();
  bool fits = type.getRank() <= int64_t(loops.size()) &&
              llvm::all_of(kept, [&](auto dimAndPlace) {
                return dimAndPlace.first + missing == dimAndPlace.second;
              });
  if (!fits) {
    SmallVector<int64_t> shape;
    for (auto [dim, place] : kept)
      shape.push_back(type.getDimSize(dim));
    if (kept.size() == 1)
      shape.append(loops.size() - 1 - kept[0].second, 1);
    type = type.clone(shape);
    view.tensor = reshape(builder, loc, view.tensor, type);
    if (!view.tensor)
      return refuse(ReasonCode::OtherOrder);
  }
  if (!isTenonTensor(type) && !type.getElementType().isInteger(1))
    return refuse(ReasonCode::NoTensor, debugString(type));
  return view.tensor;
}

Value Raiser::toResult(Value value, Value result) {
  auto type = cast<RankedTensorType>(result.getType());
  Value reshaped = reshape(builder, loc, value, type);
  return reshaped ? reshaped : refuse(ReasonCode::OtherOrder);
}

bool Raiser::liftArguments(ArrayRef<unsigned> loops,
                           llvm::DenseMap<Value, Lifted> &lifted) {
  for (OpOperand &operand : op->getOpOperands()) {
    if (operand.getOperandNumber() >= op.getBlock()->getNumArguments())
      continue;
    BlockArgument argument =
        op.getBlock()->getArgument(operand.getOperandNumber());
    if (argument.use_empty())
      continue;
    Lifted &value = lifted[argument];
    value.number = getNumber(operand.get());
    if (value.number)
      continue;
    if (!isa<RankedTensorType>(operand.get().getType()))
      return refuse(ReasonCode::NoScalarOp, "what comes from elsewhere"), false;
    value.tensor =
        arrange({operand.get(), op.getMatchingIndexingMap(&operand)}, loops);
    if (!value.tensor)
      return false;
  }
  return true;
}
