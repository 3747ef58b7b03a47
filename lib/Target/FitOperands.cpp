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

/// What `OpTy` makes of `value` as a tensor of `type`: an op that is there for
/// another layer already, or a new one.
template <typename OpTy>
static Value apply(RankedTensorType type, Value value, const Layer &layer,
                   OpBuilder &builder) {
  for (Operation *user : value.getUsers())
    if (isa<OpTy>(user) && user->getResultTypes()[0] == type &&
        user->getBlock() == layer.op->getBlock() &&
        user->isBeforeInBlock(layer.op))
      return user->getResult(0);
  return OpTy::create(builder, layer.op->getLoc(), type, value);
}

/// The tensor cores cut off what tf32 has no bits for. The kernel rounds x in
/// registers; w is rounded here, which is part of prepare if w is a parameter.
static Value roundWeights(const Layer &layer, OpBuilder &builder) {
  if (layer.w.getDefiningOp<RoundTf32Op>())
    return layer.w;
  return apply<RoundTf32Op>(cast<RankedTensorType>(layer.w.getType()), layer.w,
                            layer, builder);
}

static Value castToTiledType(Value value, const Layer &layer,
                             OpBuilder &builder) {
  auto type = cast<RankedTensorType>(value.getType());
  return apply<CastOp>(type.clone(getTiledInputType(layer)), value, layer,
                       builder);
}

void tenon::fitOperands(const Layer &layer, OpBuilder &builder) {
  if (!layer.getInputType().isF32())
    return;
  builder.setInsertionPoint(layer.op);
  if (layer.precision == Precision::TF32) {
    layer.op->setOperand(1, roundWeights(layer, builder));
    return;
  }
  layer.op->setOperands(0, 2,
                        {castToTiledType(layer.x, layer, builder),
                         castToTiledType(layer.w, layer, builder)});
  // It is a contract on products of f32; those of 16 bits keep this one.
  if (auto linear = dyn_cast<LinearOp>(layer.op))
    linear.removePrecisionAttr();
  else
    cast<FusedLinearOp>(layer.op).removePrecisionAttr();
}
