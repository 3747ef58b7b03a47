//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes the operands of a tiled layer fit its kernel.
//
//===----------------------------------------------------------------------===//

#include "Layer.h"

using namespace mlir;
using namespace mlir::tenon;

/// The tensor cores cut off what tf32 has no bits for. The kernel rounds x in
/// registers; w is rounded here, which is part of prepare if w is a parameter.
static Value roundWeights(const Layer &layer, OpBuilder &builder) {
  if (layer.w.getDefiningOp<RoundTf32Op>())
    return layer.w;
  return RoundTf32Op::create(builder, layer.op->getLoc(), layer.w);
}

static Value castTo(Type elementType, Value value, OpBuilder &builder,
                    Location loc) {
  auto type = cast<RankedTensorType>(value.getType());
  return CastOp::create(builder, loc, type.clone(elementType), value);
}

void tenon::fitOperands(const Layer &layer, OpBuilder &builder) {
  if (!layer.getInputType().isF32())
    return;
  builder.setInsertionPoint(layer.op);
  if (layer.precision == Precision::TF32) {
    layer.op->setOperand(1, roundWeights(layer, builder));
    return;
  }
  Type type = getTiledInputType(layer);
  Location loc = layer.op->getLoc();
  layer.op->setOperands(0, 2,
                        {castTo(type, layer.x, builder, loc),
                         castTo(type, layer.w, builder, loc)});
  // It is a contract on products of f32; those of 16 bits keep this one.
  if (auto linear = dyn_cast<LinearOp>(layer.op))
    linear.removePrecisionAttr();
  else
    cast<FusedLinearOp>(layer.op).removePrecisionAttr();
}
