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

#include "FitOperands.h"

#include "tenon/Dialect/Tenon/IR/NarrowFloats.h"
#include "tenon/Schedule/Checks/ScheduleFamily.h"

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

/// Whether `op` gives what a kernel that multiplies by `method` reads, of
/// `type`.
static bool isFitting(Operation *op, RankedTensorType type, bool transposed,
                      LinearLikeOp layer, ProductMethod method) {
  if (unsigned parts = getTraits(method).parts) {
    auto split = dyn_cast<WithSplitOp>(op);
    return split && split.getTransposed() == transposed &&
           split.getHalves().getType().getDimSize(1) ==
               SplitOp::getNumColumns(layer.getK(), parts);
  }
  return type.getElementType().isF32() ? isa<RoundTf32Op>(op) : isa<CastOp>(op);
}

/// The type of what stands in the place of `operand`; halves stand beside it.
static RankedTensorType getFittingType(Value operand, LinearLikeOp layer,
                                       ProductMethod method) {
  auto type = cast<RankedTensorType>(operand.getType());
  return getTraits(method).isSplit()
             ? type
             : type.clone(getTiledInputType(layer, method));
}

Value tenon::findFitting(Value operand, bool transposed, LinearLikeOp layer,
                         ProductMethod method) {
  RankedTensorType type = getFittingType(operand, layer, method);
  bool isSplit = getTraits(method).isSplit();
  Operation *producer = operand.getDefiningOp();
  if (isSplit ? producer && isFitting(producer, type, transposed, layer, method)
      : type.getElementType().isF32() ? isRounded(operand)
                                      : operand.getType() == type)
    return operand;
  for (Operation *user : operand.getUsers())
    if (user->getNumResults() == 1 && user->getResultTypes()[0] == type &&
        user->getOperand(0) == operand &&
        isFitting(user, type, transposed, layer, method) &&
        user->getBlock() == layer->getBlock() &&
        user->isBeforeInBlock(layer.getOperation()))
      return user->getResult(0);
  return {};
}

/// The tensor cores cut off what tf32 has no bits for, so operands are rounded
/// before mma.sync. In the kernel that would cost more: x is read there once
/// for each column of tiles, here once, or not at all where a layer computes
/// it.
static Value fit(Value operand, bool transposed, LinearLikeOp layer,
                 ProductMethod method, OpBuilder &builder) {
  if (Value fitting = findFitting(operand, transposed, layer, method))
    return fitting;
  Location loc = layer->getLoc();
  RankedTensorType type = getFittingType(operand, layer, method);
  if (unsigned parts = getTraits(method).parts) {
    auto split = SplitOp::create(builder, loc, operand, parts, transposed);
    return WithSplitOp::create(builder, loc, type, operand, split.getHalves(),
                               split.getFactors(), transposed);
  }
  if (type.getElementType().isF32())
    return RoundTf32Op::create(builder, loc, type, operand);
  return CastOp::create(builder, loc, type, operand);
}

void tenon::widenOperands(LinearLikeOp layer) {
  if (!isNarrowFloat(layer.getInputType()))
    return;
  Type type = Float16Type::get(layer.getContext());
  OpBuilder builder(layer);
  for (OpOperand &operand : layer->getOpOperands().take_front(2)) {
    auto matrix = cast<RankedTensorType>(operand.get().getType());
    operand.set(CastOp::create(builder, layer->getLoc(), matrix.clone(type),
                               operand.get()));
  }
}

void tenon::fitOperands(LinearLikeOp layer, ScheduleAttr schedule,
                        OpBuilder &builder) {
  ProductMethod method = schedule.getMethod();
  bool isTf32 = layer.getPrecision() == Precision::TF32;
  bool keepsPrecision = isTf32 || layer.isFp32();
  if (!layer.getInputType().isF32() || !getTraits(method).usesTensorCores ||
      method == ProductMethod::FP8 ||
      (method == ProductMethod::Direct && isTf32 &&
       ScheduleFamily::of(schedule).traits.roundsTf32))
    return;
  builder.setInsertionPoint(layer);
  std::optional<OperandLayout> layout = layer.getLayout();
  Value x = fit(layer.getX(), isXTransposed(layout), layer, method, builder);
  Value w = fit(layer.getW(), isWTransposed(layout), layer, method, builder);
  layer->setOperands(0, 2, {x, w});
  // It is a contract on products of f32; those of 16 bits keep this one.
  if (!keepsPrecision)
    layer.setPrecisionAttr({});
}
