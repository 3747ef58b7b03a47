//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Elementwise ops: what their bodies compute, on tensors.
//
//===----------------------------------------------------------------------===//

#include "BodyLifter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::tenon;

/// A tensor of one number; null if its shape is dynamic.
static Value emitConstant(OpBuilder &builder, Location loc, TypedAttr number,
                          RankedTensorType type) {
  if (!type.hasStaticShape())
    return {};
  return arith::ConstantOp::create(builder, loc,
                                   DenseElementsAttr::get(type, number));
}

SmallVector<Value> Raiser::raiseElementwise() {
  SmallVector<Value> none;
  std::optional<Loops> loops = getLoops();
  llvm::DenseMap<Value, Lifted> arguments;
  if (!loops || !liftArguments(*loops, arguments))
    return none;
  BodyLifter lifter(builder, op.getBlock(), std::move(arguments));
  SmallVector<Value> values;
  for (auto [init, result, yielded] :
       llvm::zip(op.getDpsInitsMutable(), op->getResults(),
                 op.getBlock()->getTerminator()->getOperands())) {
    AffineMap map = op.getMatchingIndexingMap(&init);
    for (unsigned i = 1; i < map.getNumResults(); ++i)
      if (map.getDimPosition(i - 1) > map.getDimPosition(i))
        return refuse(ReasonCode::OtherOrder), none;
    std::optional<Lifted> value = lifter.lift(yielded);
    if (!value) {
      obstacle = lifter.getObstacle();
      return none;
    }
    auto type = cast<RankedTensorType>(result.getType());
    Value tensor = value->tensor;
    if (value->number)
      tensor = emitConstant(builder, loc, value->number, type);
    else if (!isOfAll(tensor, *loops))
      return refuse(ReasonCode::ReadsLess), none;
    else
      tensor = toResult(tensor, result);
    if (!tensor)
      return refuse(ReasonCode::ReadsLess), none;
    values.push_back(tensor);
  }
  return values;
}
