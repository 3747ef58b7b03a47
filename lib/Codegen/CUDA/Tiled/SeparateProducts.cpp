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

/// Sums of terms stay in f32.
MemRefType tenon::getFurtherProductType(TiledLinearOp op) {
  auto type = cast<RankedTensorType>(op.getAccumulators().back().getType());
  return MemRefType::get(type.getShape(),
                         op.getNumTerms() == 1
                             ? type.getElementType()
                             : Float32Type::get(op.getContext()));
}

/// A layer of `x` and weight number `weight`, without its region.
static TiledLinearOp createOne(OpBuilder &builder, TiledLinearOp op, Value x,
                               Value w, unsigned weight, ValueRange inputs,
                               ValueRange outputs) {
  SmallVector<Value> factors;
  if (!op.getFactors().empty())
    factors = {op.getFactors()[0], op.getFactors()[1 + weight]};
  return TiledLinearOp::create(
      builder, op.getLoc(), x, w, factors, inputs, outputs, op.getWorkspace(),
      op.getSchedule().withWeights(1).withTerms(1), op.getLayoutAttr());
}

static SmallVector<Value> prepend(Value first, ValueRange others) {
  SmallVector<Value> values{first};
  llvm::append_range(values, others);
  return values;
}

/// Of two weights: the second one's product first.
static SmallVector<TiledLinearOp>
separateWeights(OpBuilder &builder, TiledLinearOp op, Value buffer) {
  TiledLinearOp first = createOne(builder, op, op.getX(), op.getWeights()[1],
                                  /*weight=*/1, {}, buffer);
  {
    OpBuilder::InsertionGuard guard(builder);
    Block *body =
        builder.createBlock(&first.getEpilogue(), {},
                            op.getAccumulators()[1].getType(), op.getLoc());
    YieldOp::create(builder, op.getLoc(), body->getArgument(0));
  }
  // The second product argument becomes that of the first input.
  TiledLinearOp rest =
      createOne(builder, op, op.getX(), op.getW(), /*weight=*/0,
                prepend(buffer, op.getInputs()), op.getOutputs());
  IRMapping mapping;
  op.getEpilogue().cloneInto(&rest.getEpilogue(), mapping);
  return {first, rest};
}

/// Adds what is in a buffer to the product of a layer of one term, in f32.
static Value addSum(OpBuilder &builder, Block *body, Type type, Location loc) {
  Value product = body->insertArgument(0u, type, loc);
  Value sum = body->insertArgument(1u, type, loc);
  builder.setInsertionPointToStart(body);
  return AddOp::create(builder, loc, product, sum);
}

/// Of several terms: the last one's product first, to which the others are
/// added.
static SmallVector<TiledLinearOp>
separateTerms(OpBuilder &builder, TiledLinearOp op, Value buffer) {
  OpBuilder::InsertionGuard guard(builder);
  Location loc = op.getLoc();
  Type type = EpilogueOp::getTensorType(buffer.getType());
  SmallVector<TiledLinearOp> layers;
  for (unsigned term = op.getNumTerms() - 1; term != 0; --term) {
    OpBuilder::InsertionGuard inner(builder);
    auto [x, w] = op.getTerm(term);
    SmallVector<Value> inputs;
    if (!layers.empty())
      inputs.push_back(buffer);
    TiledLinearOp layer =
        createOne(builder, op, x, w, /*weight=*/0, inputs, buffer);
    Block *body = builder.createBlock(&layer.getEpilogue());
    Value sum = inputs.empty() ? body->addArgument(type, loc)
                               : addSum(builder, body, type, loc);
    YieldOp::create(builder, loc, sum);
    layers.push_back(layer);
  }
  TiledLinearOp rest =
      createOne(builder, op, op.getX(), op.getW(), /*weight=*/0,
                prepend(buffer, op.getInputs()), op.getOutputs());
  IRMapping mapping;
  op.getEpilogue().cloneInto(&rest.getEpilogue(), mapping);
  Block *body = rest.getBody();
  Value sum = addSum(builder, body, type, loc);
  BlockArgument product = body->getArgument(2);
  if (product.getType() != type)
    sum = CastOp::create(builder, loc, product.getType(), sum);
  product.replaceAllUsesWith(sum);
  body->eraseArgument(2);
  layers.push_back(rest);
  return layers;
}

SmallVector<TiledLinearOp> tenon::createSeparateProducts(OpBuilder &builder,
                                                         TiledLinearOp op,
                                                         Value buffer) {
  return op.getNumTerms() == 1 ? separateWeights(builder, op, buffer)
                               : separateTerms(builder, op, buffer);
}
