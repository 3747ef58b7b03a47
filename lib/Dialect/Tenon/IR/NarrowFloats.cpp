//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Converts 8-bit floats from and to f32.
//
//===----------------------------------------------------------------------===//

#include "tenon/Dialect/Tenon/IR/NarrowFloats.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace mlir::tenon;

static constexpr unsigned kDigits = 23, kBias = 127; // of f32
static constexpr uint32_t kInfinity = 0x7f800000;

namespace {
/// A format of 8 bits. Finite magnitudes, as bits, are in order.
struct Format {
  unsigned digits, bias;
  uint32_t last;  ///< the largest number
  uint32_t limit; ///< what is too large becomes

  explicit Format(Type type) {
    const llvm::fltSemantics &semantics =
        cast<FloatType>(type).getFloatSemantics();
    digits = APFloat::semanticsPrecision(semantics) - 1;
    bias = 1 - APFloat::semanticsMinExponent(semantics);
    last = static_cast<uint32_t>(
        APFloat::getLargest(semantics).bitcastToAPInt().getZExtValue());
    limit = last + (APFloat::semanticsHasInf(semantics) ? 1 : 0);
  }
};

/// On scalars, or vectors of the shape of `like`.
class Emitter {
public:
  Emitter(Operation *op) : b(op->getLoc(), op), like(op->getOperand(0)) {}

  Value extend(Value value, Type type);
  Value round(Value value, Type type);

private:
  Type shaped(Type element) {
    auto vector = dyn_cast<VectorType>(like.getType());
    return vector ? Type(vector.clone(element)) : element;
  }
  Type i8() { return shaped(b.getI8Type()); }
  Type i32() { return shaped(b.getI32Type()); }
  Type f32() { return shaped(b.getF32Type()); }
  Value constant(TypedAttr scalar) {
    if (auto vector = dyn_cast<VectorType>(like.getType()))
      scalar = DenseElementsAttr::get(vector.clone(scalar.getType()), scalar);
    return arith::ConstantOp::create(b, scalar);
  }
  Value bits(uint32_t value) {
    return constant(b.getI32IntegerAttr(static_cast<int32_t>(value)));
  }
  Value bitcast(Type type, Value value) {
    return arith::BitcastOp::create(b, type, value);
  }
  Value isLess(Value a, Value c) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, a, c);
  }
  Value add(Value a, Value c) { return arith::AddIOp::create(b, a, c); }
  Value sub(Value a, Value c) { return arith::SubIOp::create(b, a, c); }
  Value both(Value a, uint32_t c) {
    return arith::AndIOp::create(b, a, bits(c));
  }
  Value either(Value a, Value c) { return arith::OrIOp::create(b, a, c); }
  Value left(Value a, unsigned by) {
    return arith::ShLIOp::create(b, a, bits(by));
  }
  Value right(Value a, unsigned by) {
    return arith::ShRUIOp::create(b, a, bits(by));
  }
  Value select(Value condition, Value a, Value c) {
    return arith::SelectOp::create(b, condition, a, c);
  }

  ImplicitLocOpBuilder b;
  Value like;
};
} // namespace

/// Exact. No step has a subnormal f32, which a CPU may be told to flush.
Value Emitter::extend(Value value, Type type) {
  Format format(getElementTypeOrSelf(value));
  Value word = arith::ExtUIOp::create(b, i32(), bitcast(i8(), value));
  Value sign = left(both(word, 0x80), 24), magnitude = both(word, 0x7f);
  Value shifted = left(magnitude, kDigits - format.digits);
  Value normal = add(shifted, bits((kBias - format.bias) << kDigits));
  // A subnormal is so many of the least.
  double least =
      std::ldexp(1.0, 1 - static_cast<int>(format.bias + format.digits));
  Value count = arith::UIToFPOp::create(b, f32(), magnitude);
  Value subnormal =
      bitcast(i32(), arith::MulFOp::create(b, count,
                                           constant(b.getF32FloatAttr(least))));
  Value finite =
      select(isLess(magnitude, bits(1 << format.digits)), subnormal, normal);
  Value result = select(isLess(bits(format.last), magnitude),
                        either(shifted, bits(kInfinity)), finite);
  Value extended = bitcast(f32(), either(sign, result));
  Type element = getElementTypeOrSelf(type);
  if (element.isF32())
    return extended;
  return element.isF64()
             ? arith::ExtFOp::create(b, type, extended).getResult()
             : arith::TruncFOp::create(b, type, extended).getResult();
}

/// To nearest, ties to even.
Value Emitter::round(Value value, Type type) {
  Format format(getElementTypeOrSelf(type));
  Type element = getElementTypeOrSelf(value);
  if (element.isF64())
    value = arith::TruncFOp::create(b, f32(), value);
  else if (!element.isF32())
    value = arith::ExtFOp::create(b, f32(), value);
  Value word = bitcast(i32(), value), magnitude = both(word, 0x7fffffff);
  unsigned lost = kDigits - format.digits;
  // Half of what is lost, less the least if that is a tie below an even number.
  Value isOdd = both(right(magnitude, lost), 1);
  Value half = add(bits((1u << (lost - 1)) - 1), isOdd);
  Value normal = sub(right(add(magnitude, half), lost),
                     bits((kBias - format.bias) << format.digits));
  // The sum's last digit is a subnormal's.
  uint32_t large = (kBias - format.bias + lost + 1) << kDigits;
  Value sum = arith::AddFOp::create(b, bitcast(f32(), magnitude),
                                    bitcast(f32(), bits(large)));
  Value subnormal = sub(bitcast(i32(), sum), bits(large));
  Value isSubnormal =
      isLess(magnitude, bits((kBias + 1 - format.bias) << kDigits));
  Value rounded = arith::MinUIOp::create(
      b, select(isSubnormal, subnormal, normal), bits(format.limit));
  Value isNaN = isLess(bits(kInfinity), magnitude);
  Value sign = both(right(word, 24), 0x80);
  Value result = either(select(isNaN, bits(0x7f), rounded), sign);
  return bitcast(type, arith::TruncIOp::create(b, i8(), result));
}

void tenon::expandNarrowFloats(Operation *root) {
  SmallVector<Operation *> ops;
  root->walk([&](Operation *op) {
    if (isa<arith::ExtFOp, arith::TruncFOp>(op) &&
        (isNarrowFloat(getElementTypeOrSelf(op->getOperand(0))) ||
         isNarrowFloat(getElementTypeOrSelf(op->getResult(0)))))
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    Value value = op->getOperand(0);
    Type type = op->getResult(0).getType();
    Emitter emitter(op);
    op->getResult(0).replaceAllUsesWith(isa<arith::ExtFOp>(op)
                                            ? emitter.extend(value, type)
                                            : emitter.round(value, type));
    op->erase();
  }
}
