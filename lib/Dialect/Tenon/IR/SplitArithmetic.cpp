//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The arithmetic of tenon.split, as docs/Spec.md defines it.
//
//===----------------------------------------------------------------------===//

#include "tenon/Dialect/Tenon/IR/SplitArithmetic.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <algorithm>
#include <cmath>

using namespace mlir;

namespace {
/// Scalars, or vectors of the shape of `like`.
struct Emitter {
  ImplicitLocOpBuilder b;
  Type like;

  Emitter(OpBuilder &builder, Location loc, Value like)
      : b(loc, builder), like(like.getType()) {}

  Type shaped(Type element) {
    auto vector = dyn_cast<VectorType>(like);
    return vector ? vector.clone(element) : element;
  }
  Value constant(TypedAttr value) {
    if (auto type = dyn_cast<VectorType>(shaped(value.getType())))
      value = DenseElementsAttr::get(type, Attribute(value));
    return arith::ConstantOp::create(b, value);
  }
  Value integer(int32_t value) { return constant(b.getI32IntegerAttr(value)); }
  Value number(float value) { return constant(b.getF32FloatAttr(value)); }
  Value bits(Value x) {
    return arith::BitcastOp::create(b, shaped(b.getI32Type()), x);
  }
  /// 2^exponent, which is normal.
  Value powerOfTwo(Value exponent) {
    Value biased = arith::AddIOp::create(b, exponent, integer(127));
    Value field = arith::ShLIOp::create(b, biased, integer(23));
    return arith::BitcastOp::create(b, shaped(b.getF32Type()), field);
  }
  /// To nearest even.
  Value round(Value x) {
    return arith::TruncFOp::create(b, shaped(b.getF16Type()), x);
  }
  Value extend(Value x) {
    return arith::ExtFOp::create(b, shaped(b.getF32Type()), x);
  }
};
} // namespace

Value tenon::emitMagnitudeBits(OpBuilder &builder, Location loc, Value x) {
  Emitter e(builder, loc, x);
  return arith::AndIOp::create(e.b, e.bits(x), e.integer(0x7fffffff));
}

tenon::SplitScale tenon::emitSplitScale(OpBuilder &builder, Location loc,
                                        Value largestBits) {
  Emitter e(builder, loc, largestBits);
  // The largest magnitude is to be in [2^14, 2^15).
  Value exponent = arith::ShRUIOp::create(e.b, largestBits, e.integer(23));
  Value wanted = arith::SubIOp::create(e.b, e.integer(141), exponent);
  Value scale = arith::MinSIOp::create(e.b, wanted, e.integer(126));
  Value isZero = arith::CmpIOp::create(e.b, arith::CmpIPredicate::eq,
                                       largestBits, e.integer(0));
  scale = arith::SelectOp::create(e.b, isZero, e.integer(0), scale);
  Value factor = arith::SubIOp::create(e.b, e.integer(0), scale);
  return {e.powerOfTwo(scale), e.powerOfTwo(factor)};
}

/// Which part of an element its halves may lack: with two, as large a part as
/// SGEMM's roundings are of a sum of K products of its size.
static float getTolerance(unsigned parts, int64_t k) {
  return parts == 1 ? 0x1p-11 : 0x1p-22 * std::sqrt(std::max(1.0, k / 64.0));
}

/// The score of an element that lacks less than that, but more than it may in
/// a short row: of a row that is not outside, half of them may.
static constexpr int32_t kFewLost = 1;

tenon::SplitElement tenon::emitSplitElement(OpBuilder &builder, Location loc,
                                            Value x, Value scale,
                                            unsigned parts, int64_t k) {
  Emitter e(builder, loc, x);
  Value v = arith::MulFOp::create(e.b, x, scale);
  SplitElement element;
  element.hi = e.round(v);
  // Both differences are exact.
  Value rest = arith::SubFOp::create(e.b, v, e.extend(element.hi));
  if (parts == 2) {
    element.lo = e.round(rest);
    rest = arith::SubFOp::create(e.b, rest, e.extend(element.lo));
  }
  // Both are 0 if v is 0, to which an x may have underflowed.
  Value isNotZero =
      arith::CmpFOp::create(e.b, arith::CmpFPredicate::UNE, x, e.number(0.0f));
  Value bound = math::AbsFOp::create(e.b, v);
  Value score = e.integer(-1);
  auto countLacking = [&](float part, int32_t as) {
    bound = arith::MulFOp::create(e.b, bound, e.number(part));
    Value lacks = arith::CmpFOp::create(e.b, arith::CmpFPredicate::OGE,
                                        math::AbsFOp::create(e.b, rest), bound);
    score = arith::SelectOp::create(e.b, lacks, e.integer(as), score);
  };
  float few = getTolerance(parts, 1), most = getTolerance(parts, k);
  if (most > few)
    countLacking(few, kFewLost);
  countLacking(most > few ? most / few : few, 63);
  element.score = arith::SelectOp::create(e.b, isNotZero, score, e.integer(0));
  return element;
}

Value tenon::emitRowIsOutside(OpBuilder &builder, Location loc,
                              Value largestBits, Value totalScore,
                              unsigned parts) {
  Emitter e(builder, loc, largestBits);
  // In two parts a product loses more than f32 does. It takes the errors of a
  // sum of 64 to hide that.
  Value loses =
      arith::CmpIOp::create(e.b, arith::CmpIPredicate::sgt, totalScore,
                            e.integer(parts == 2 ? -64 : 0));
  Value isNotZero = arith::CmpIOp::create(e.b, arith::CmpIPredicate::ne,
                                          largestBits, e.integer(0));
  loses = arith::AndIOp::create(e.b, loses, isNotZero);
  // An exponent field of 255: infinity or NaN.
  Value isNotFinite = arith::CmpIOp::create(e.b, arith::CmpIPredicate::sge,
                                            largestBits, e.integer(0x7f800000));
  return arith::OrIOp::create(e.b, loses, isNotFinite);
}

Value tenon::emitSplitFactor(OpBuilder &builder, Location loc, Value factor,
                             Value isOutside) {
  Emitter e(builder, loc, factor);
  return arith::SelectOp::create(e.b, isOutside,
                                 arith::NegFOp::create(e.b, factor), factor);
}
