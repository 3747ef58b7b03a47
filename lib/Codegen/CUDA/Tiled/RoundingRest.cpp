//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Codes a rest as the fraction of a number with the rounded one's exponent.
//
//===----------------------------------------------------------------------===//

#include "RoundingRest.h"

using namespace mlir;
using namespace mlir::tenon;

static constexpr int64_t kFractionBits = 23;
/// Of an f32's bits: those of sign and exponent.
static constexpr int64_t kExponentMask = -(int64_t(1) << kFractionBits);
static constexpr int64_t kShift = kFractionBits - kRestBits;
/// The fraction 0.5, that of no rest.
static constexpr int64_t kMiddle = int64_t(1) << (kFractionBits - 1);
/// 1.5 units in the last place, times that, are less than half of 2^exponent:
/// so the sum with the middle has the same exponent.
static constexpr float kScale = 1 << (kFractionBits - 2);

/// f32 of the exponent and sign of `rounded`, and of the fraction's bits.
static Value withFraction(KernelBuilder &b, Value rounded, Value fraction) {
  Value bits = arith::BitcastOp::create(b, b.getI32Type(), rounded);
  bits = b.bitOr(b.bitAnd(bits, kExponentMask), fraction);
  return arith::BitcastOp::create(b, b.getF32Type(), bits);
}

Value tenon::encodeRest(KernelBuilder &b, Value rounded, Value rest) {
  // Half a step more, since bits below are cut off.
  Value middle =
      withFraction(b, rounded, b.i32(kMiddle + (int64_t(1) << (kShift - 1))));
  Value sum =
      LLVM::FMAOp::create(b, b.getF32Type(), rest, b.f32(kScale), middle);
  Value bits = arith::BitcastOp::create(b, b.getI32Type(), sum);
  return b.bitAnd(b.shiftRight(bits, kShift), kRestMask);
}

Value tenon::decodeRest(KernelBuilder &b, Value rounded, Value bits) {
  Value fraction = b.bitAnd(b.shiftLeft(bits, kShift), kRestMask << kShift);
  Value sum = withFraction(b, rounded, fraction);
  Value middle = withFraction(b, rounded, b.i32(kMiddle));
  return arith::MulFOp::create(b, arith::SubFOp::create(b, sum, middle),
                               b.f32(1 / kScale));
}
