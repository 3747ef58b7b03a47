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

/// Whether `value` holds numbers of tf32: rounded by an op of its own, or at
/// the end of the epilogue that computes it.
static bool isRounded(Value value) {
  if (auto fused = value.getDefiningOp<FusedLinearOp>())
    value =
        fused.getYield().getValues()[cast<OpResult>(value).getResultNumber()];
  return isa_and_nonnull<RoundTf32Op>(value.getDefiningOp());
}

static RankedTensorType getTiledType(Value operand, const Layer &layer) {
  return cast<RankedTensorType>(operand.getType())
      .clone(getTiledInputType(layer));
}

Value tenon::findFitting(Value operand, const Layer &layer) {
  RankedTensorType type = getTiledType(operand, layer);
  bool isTf32 = type.getElementType().isF32();
  if (isTf32 ? isRounded(operand) : operand.getType() == type)
    return operand;
  for (Operation *user : operand.getUsers())
    if ((isTf32 ? isa<RoundTf32Op>(user) : isa<CastOp>(user)) &&
        user->getResultTypes()[0] == type &&
        user->getBlock() == layer.op->getBlock() &&
        user->isBeforeInBlock(layer.op))
      return user->getResult(0);
  return {};
}

/// The tensor cores cut off what tf32 has no bits for, so operands are rounded
/// before mma.sync. In the kernel that would cost more: x is read there once
/// for each column of tiles, here once, or not at all where a layer computes
/// it.
static Value fit(Value operand, const Layer &layer, OpBuilder &builder) {
  if (Value fitting = findFitting(operand, layer))
    return fitting;
  RankedTensorType type = getTiledType(operand, layer);
  if (type.getElementType().isF32())
    return RoundTf32Op::create(builder, layer.op->getLoc(), type, operand);
  return CastOp::create(builder, layer.op->getLoc(), type, operand);
}

void tenon::fitOperands(const Layer &layer, KernelFamily family,
                        OpBuilder &builder) {
  // TMA rounds to tf32 as it copies for wgmma.
  if (!layer.getInputType().isF32() ||
      (layer.precision == Precision::TF32 && family == KernelFamily::Wgmma))
    return;
  builder.setInsertionPoint(layer.op);
  Value x = fit(layer.x, layer, builder);
  layer.op->setOperands(0, 2, {x, fit(layer.w, layer, builder)});
  if (layer.precision == Precision::TF32)
    return;
  // It is a contract on products of f32; those of 16 bits keep this one.
  if (auto linear = dyn_cast<LinearOp>(layer.op))
    linear.removePrecisionAttr();
  else
    cast<FusedLinearOp>(layer.op).removePrecisionAttr();
}
