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

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Support/DebugStringHelper.h"

using namespace mlir;
using namespace mlir::tenon;

/// Whether the body is that of a product; the interface looks through any op of
/// one operand.
static bool isProduct(linalg::LinalgOp op) {
  return linalg::isaContractionOpInterface(op) &&
         llvm::all_of(*op.getBlock(), [](Operation &inner) {
           return isa<arith::ExtFOp, arith::MulFOp, arith::AddFOp,
                      linalg::YieldOp>(inner);
         });
}

SmallVector<Value> Raiser::run() {
  if (!op.hasPureTensorSemantics() || op->getNumResults() == 0)
    return refuse(ReasonCode::NotOnTensors), SmallVector<Value>();
  if (isProduct(op))
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

bool Raiser::isOfAll(Value tensor, ArrayRef<unsigned> loops) {
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  auto type = cast<RankedTensorType>(tensor.getType());
  bool isColumn = loops.size() == 1 && type.getRank() == 2 &&
                  type.isDynamicDim(0) && type.getDimSize(1) == 1;
  if (type.getRank() != int64_t(loops.size()) && !isColumn)
    return false;
  ArrayRef<int64_t> shape = type.getShape().take_front(loops.size());
  return llvm::all_of(llvm::enumerate(shape), [&](auto dim) {
    int64_t extent = extents[loops[dim.index()]];
    // A static 1 is repeated, whatever a dynamic extent is.
    return dim.value() == extent ||
           (ShapedType::isDynamic(extent) && dim.value() != 1) ||
           (ShapedType::isDynamic(dim.value()) && extent != 1);
  });
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
  // Of vectors none is dynamic: they are columns of matrices.
  bool isColumn =
      loops.size() == 1 && !kept.empty() && type.isDynamicDim(kept[0].first);
  unsigned rank = isColumn ? 2 : loops.size();
  unsigned missing = rank - type.getRank();
  bool fits = type.getRank() <= int64_t(rank) &&
              llvm::all_of(kept, [&](auto dimAndPlace) {
                return dimAndPlace.first + missing == dimAndPlace.second;
              });
  if (!fits) {
    SmallVector<int64_t> shape;
    for (auto [dim, place] : kept)
      shape.push_back(type.getDimSize(dim));
    if (kept.size() == 1)
      shape.append(rank - 1 - kept[0].second, 1);
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
