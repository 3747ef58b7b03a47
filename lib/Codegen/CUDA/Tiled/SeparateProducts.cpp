//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SeparateProducts.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::tenon;

MemRefType tenon::getSecondProductType(TiledLinearOp op) {
  auto type = cast<RankedTensorType>(op.getAccumulators()[1].getType());
  return MemRefType::get(type.getShape(), type.getElementType());
}

/// A layer of weight number `weight`, without its region.
static TiledLinearOp createOne(OpBuilder &builder, TiledLinearOp op,
                               unsigned weight, ValueRange inputs,
                               ValueRange outputs) {
  SmallVector<Value> factors;
  if (!op.getFactors().empty())
    factors = {op.getFactors()[0], op.getFactors()[1 + weight]};
  return TiledLinearOp::create(
      builder, op.getLoc(), op.getX(), op.getWeights()[weight], factors, inputs,
      outputs, op.getWorkspace(), op.getSchedule().withWeights(1),
      op.getLayoutAttr());
}

SeparateProducts tenon::createSeparateProducts(OpBuilder &builder,
                                               TiledLinearOp op, Value buffer) {
  Location loc = op.getLoc();
  TiledLinearOp first = createOne(builder, op, 1, {}, buffer);
  {
    OpBuilder::InsertionGuard guard(builder);
    Block *body = builder.createBlock(&first.getEpilogue(), {},
                                      op.getAccumulators()[1].getType(), loc);
    YieldOp::create(builder, loc, body->getArgument(0));
  }
  // The second product argument becomes that of the first input.
  SmallVector<Value> inputs{buffer};
  llvm::append_range(inputs, op.getInputs());
  TiledLinearOp rest = createOne(builder, op, 0, inputs, op.getOutputs());
  IRMapping mapping;
  op.getEpilogue().cloneInto(&rest.getEpilogue(), mapping);
  return {first, rest};
}
