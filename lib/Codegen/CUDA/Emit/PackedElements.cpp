//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits instructions that take pairs of elements apart, or bound both.
//
//===----------------------------------------------------------------------===//

#include "PackedElements.h"

#include "Constants.h"

#include "tenon/Dialect/Tenon/IR/Tenon.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::tenon;

/// A bf16 is the upper half of its f32. One instruction an element: LLVM's own
/// extension of the upper element takes it to a lower half, and back.
static void extendPair(ImplicitLocOpBuilder &builder, Value word,
                       SmallVectorImpl<Value> &elements) {
  Value low = arith::ShLIOp::create(builder, word, createI32(builder, 16));
  Value high =
      arith::AndIOp::create(builder, word, createI32(builder, -(1 << 16)));
  for (Value bits : {low, high})
    elements.push_back(
        arith::BitcastOp::create(builder, builder.getF32Type(), bits));
}

SmallVector<Value> tenon::extendElements(ImplicitLocOpBuilder &builder,
                                         Value vector) {
  auto type = cast<VectorType>(vector.getType());
  int64_t count = type.getNumElements();
  SmallVector<Value> elements;
  if (!type.getElementType().isBF16()) {
    for (int64_t i = 0; i != count; ++i) {
      Value element = vector::ExtractOp::create(builder, vector, i);
      elements.push_back(
          arith::ExtFOp::create(builder, builder.getF32Type(), element));
    }
    return elements;
  }
  Value words = LLVM::BitcastOp::create(
      builder, VectorType::get(count / 2, builder.getI32Type()), vector);
  for (int64_t i = 0; i != count / 2; ++i)
    extendPair(builder, vector::ExtractOp::create(builder, words, i), elements);
  return elements;
}

SmallVector<Value> tenon::extendWords(ImplicitLocOpBuilder &builder,
                                      Value words, Type type) {
  auto count = cast<LLVM::LLVMStructType>(words.getType()).getBody().size();
  SmallVector<Value> elements;
  for (unsigned i = 0; i != count; ++i)
    elements.append(extendElements(
        builder, LLVM::BitcastOp::create(
                     builder, VectorType::get(2, type),
                     LLVM::ExtractValueOp::create(builder, words, i))));
  return elements;
}

Value tenon::roundPair(ImplicitLocOpBuilder &builder, Value first, Value second,
                       Type type) {
  auto round = [&](auto op) -> Value {
    return decltype(op)::create(builder, VectorType::get(2, type), second,
                                first, /*random_bits=*/Value(),
                                NVVM::FPRoundingMode::RN);
  };
  return type.isF16() ? round(NVVM::ConvertF32x2ToF16x2Op())
                      : round(NVVM::ConvertF32x2ToBF16x2Op());
}

Value tenon::roundBytes(ImplicitLocOpBuilder &builder, Value first,
                        Value second, Type type) {
  auto i16 = builder.getI16Type();
  if (isa<Float8E4M3FNType>(type))
    return LLVM::InlineAsmOp::create(
               builder, i16, ValueRange{second, first},
               "cvt.rn.satfinite.e4m3x2.f32 $0, $1, $2;", "=h,f,f",
               /*has_side_effects=*/false, /*is_align_stack=*/false,
               LLVM::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr())
        .getResult(0);
  // The instruction has no infinity.
  auto toByte = [&](Value value) -> Value {
    Value rounded = arith::TruncFOp::create(builder, type, value);
    Value byte =
        arith::BitcastOp::create(builder, builder.getI8Type(), rounded);
    return arith::ExtUIOp::create(builder, i16, byte);
  };
  Value eight =
      arith::ConstantOp::create(builder, builder.getI16IntegerAttr(8));
  Value high = arith::ShLIOp::create(builder, toByte(second), eight);
  return arith::OrIOp::create(builder, high, toByte(first));
}

//===----------------------------------------------------------------------===//
// RoundedBounds
//===----------------------------------------------------------------------===//

RoundedBounds::RoundedBounds(Value result) : unbounded(result) {
  Type type = getElementTypeOrSelf(result);
  if (type.isF16() || type.isBF16())
    add(result);
}

void RoundedBounds::add(Value value) {
  unbounded = value;
  Operation *op = value.getDefiningOp();
  if (!op || !isa<ClampOp, ReluOp>(op) || !value.hasOneUse())
    return;
  add(op->getOperand(0));
  auto clamp = dyn_cast<ClampOp>(op);
  double low = clamp ? clamp.getMin().convertToDouble() : 0.0;
  double high = clamp ? clamp.getMax().convertToDouble() : INFINITY;
  if (low != -INFINITY)
    bounds.emplace_back(false, low);
  if (high != INFINITY)
    bounds.emplace_back(true, high);
}

Value RoundedBounds::apply(ImplicitLocOpBuilder &builder, Value pair) const {
  auto type = cast<VectorType>(pair.getType());
  for (auto [isUpper, bound] : bounds) {
    // Rounded as the op's constants are, to f32, and then as its result is.
    FloatAttr rounded =
        builder.getFloatAttr(type.getElementType(), static_cast<float>(bound));
    Value both = arith::ConstantOp::create(
        builder, DenseElementsAttr::get(type, rounded.getValue()));
    pair = isUpper ? arith::MinimumFOp::create(builder, pair, both).getResult()
                   : arith::MaximumFOp::create(builder, pair, both).getResult();
  }
  return pair;
}
