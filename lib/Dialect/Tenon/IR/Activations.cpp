//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emission of the activations that are made of exp, tanh or erf.
//
//===----------------------------------------------------------------------===//

#include "ScalarEmitter.h"

#include "tenon/Dialect/Tenon/IR/Tenon.h"

#include <cmath>

using namespace mlir;
using namespace mlir::tenon;

//===----------------------------------------------------------------------===//
// gelu
//===----------------------------------------------------------------------===//

/// log2 of Phi(-t), the normal distribution's lower tail, for t >= 0: the
/// coefficients that scripts/fit_gelu.py prints. The last is negative, so that
/// the tail goes on to 0 beyond the range of the fit.
static constexpr float kLog2Tail[] = {
    -1.0f,           -1.15110588f,     -0.459199637f,    -0.0525308698f,
    0.00712690409f,  -0.000196377674f, -0.000156814596f, 3.21381667e-05f,
    -2.13713702e-06f};

/// The same in fewer terms, for results that are rounded to these types, and
/// for what a product of tf32 makes.
static constexpr float kLog2TailF16[] = {-1.0f,          -1.14976346f,
                                         -0.463346273f,  -0.0486496687f,
                                         0.00592286885f, -0.000328543072f};
static constexpr float kLog2TailBF16[] = {-1.0f,          -1.14633656f,
                                          -0.470892131f,  -0.0435763523f,
                                          0.00459430367f, -0.000209494174f};
static constexpr float kLog2TailTF32[] = {-1.0f,          -1.15095818f,
                                          -0.459978789f,  -0.0514460951f,
                                          0.00677918503f, -0.000412773981f};

/// Phi(-|x|) as a power of 2.
static Value emitTail(ScalarEmitter &e, Value t, ArrayRef<float> log2Tail) {
  Value power = e.constant(log2Tail.back());
  for (float coefficient : llvm::reverse(log2Tail.drop_back()))
    power = e.add(e.mul(power, t), e.constant(coefficient));
  return e.exp2(power);
}

/// Phi(x), as |1 - tail| or |0 - tail|: nothing cancels for negative x. That 1
/// or 0 comparing to 0 gives a GPU in one instruction.
static Value emitPhi(ScalarEmitter &e, Value x, ArrayRef<float> log2Tail) {
  Value t = e.abs(x);
  Value tail = emitTail(e, t, log2Tail);
  Value step =
      e.select(e.greater(x, e.constant(0.0)), e.constant(1.0), e.constant(0.0));
  return e.abs(e.sub(step, tail));
}

/// x Phi(x). The last operation is a product, so that an addition that follows
/// may become one with it; no infinity needs to be kept away, as -infinity is
/// to give NaN (gelu-R1).
static Value emitExactGelu(ScalarEmitter &e, Value x,
                           ArrayRef<float> log2Tail) {
  return e.mul(x, emitPhi(e, x, log2Tail));
}

/// The table of an exact gelu, or its derivative, that is computed in f32 and
/// stored as `result`.
static ArrayRef<float> getLog2Tail(Type result, bool isTf32 = false) {
  if (result.isF16())
    return kLog2TailF16;
  if (result.isBF16())
    return kLog2TailBF16;
  return isTf32 ? ArrayRef<float>(kLog2TailTF32) : ArrayRef<float>(kLog2Tail);
}

Value GeluOp::emitScalar(OpBuilder &builder, Location loc,
                         ValueRange operands) {
  ScalarEmitter e(builder, loc, operands);
  Value x = operands[0];
  bool exact = getApproximate() != GeluApproximation::Tanh;
  if (exact && x.getType().isF32())
    return emitExactGelu(
        e, x,
        getLog2Tail(getType().getElementType(),
                    getApproximate() == GeluApproximation::TF32));
  if (exact) {
    Value erf =
        math::ErfOp::create(builder, loc, e.mul(x, e.constant(M_SQRT1_2)));
    return e.mul(e.mul(x, e.constant(0.5)), e.add(erf, e.constant(1.0)));
  }
  // The tanh of sqrt(2 / pi) (x + 0.044715 x^3).
  constexpr double scale = M_2_SQRTPI * M_SQRT1_2;
  Value square = e.mul(x, x);
  Value polynomial = e.add(e.mul(e.mul(square, x), e.constant(0.044715)), x);
  if (x.getType().isF32() && getType().getElementTypeBitWidth() <= 16) {
    // x / 2 (1 + tanh t) = x / (1 + exp(-2 t)), and nothing cancels.
    Value power = e.exp2(e.mul(polynomial, e.constant(-2.0 * scale * M_LOG2E)));
    return e.quotient(x, e.add(e.constant(1.0), power));
  }
  Value tanh = e.tanh(e.mul(polynomial, e.constant(scale)));
  return e.mul(e.mul(x, e.constant(0.5)), e.add(tanh, e.constant(1.0)));
}

/// cuBLASLt's tanh is the hardware's approximation: on an H200 its error in
/// f32 was found to be beyond what a product in fp32 may have.
LibraryPart GeluOp::getLibraryPart() {
  bool isTanh = getApproximate() == GeluApproximation::Tanh;
  return isTanh && getType().getElementType().isBF16() ? LibraryPart::GeluTanh
                                                       : LibraryPart::None;
}

/// Phi(x) + x phi(x): the density is a power of 2 as the tail is.
Value GeluDerivativeOp::emitScalar(OpBuilder &builder, Location loc,
                                   ValueRange operands) {
  ScalarEmitter e(builder, loc, operands);
  Value x = operands[0], half = e.constant(0.5), phi;
  if (x.getType().isF32()) {
    phi = emitPhi(e, x, getLog2Tail(getType().getElementType()));
  } else {
    Value erf =
        math::ErfOp::create(builder, loc, e.mul(x, e.constant(M_SQRT1_2)));
    phi = e.add(e.mul(erf, half), half);
  }
  Value exponent = e.mul(e.mul(x, x), e.constant(-0.5 * M_LOG2E));
  Value scaled = e.mul(x, e.constant(0.5 * M_2_SQRTPI * M_SQRT1_2));
  return e.add(e.mul(scaled, e.exp2(exponent)), phi);
}

//===----------------------------------------------------------------------===//
// The others
//===----------------------------------------------------------------------===//

Value SiluOp::emitScalar(OpBuilder &builder, Location loc,
                         ValueRange operands) {
  ScalarEmitter e(builder, loc, operands);
  // x / (1 + exp(-x)), not x * sigmoid(x): one rounding less. By exp2, which is
  // shorter, kernels of two results and of pairs spilled.
  Value negated = arith::NegFOp::create(builder, loc, operands[0]);
  return e.quotient(operands[0], e.add(e.constant(1.0), e.exp(negated)));
}

Value MishOp::emitScalar(OpBuilder &builder, Location loc,
                         ValueRange operands) {
  ScalarEmitter e(builder, loc, operands);
  Value x = operands[0];
  // tanh(log(1 + e)) = n / (n + 2), n = e (e + 2): no cancellation for small e.
  Value exponential = e.exp(x, getType().getElementType());
  Value n = e.mul(exponential, e.add(exponential, e.constant(2.0)));
  Value ratio = e.quotient(n, e.add(n, e.constant(2.0)));
  // e overflows further out, where the ratio is 1 to the last bit.
  return e.select(e.greater(x, e.constant(20.0)), x, e.mul(x, ratio));
}

LogicalResult SoftplusOp::verify() { // softplus-C1
  return detail::verifyFinite(*this);
}

/// With z = beta x, max(z, 0) + log(1 + exp(-|z|)): the power is 1 at most.
Value SoftplusOp::emitScalar(OpBuilder &builder, Location loc,
                             ValueRange operands) {
  ScalarEmitter e(builder, loc, operands);
  double beta = getBeta().convertToDouble();
  Value x = operands[0], z = e.mul(x, e.constant(beta));
  Value power = e.exp(arith::NegFOp::create(builder, loc, e.abs(z)));
  Value positive = arith::MaximumFOp::create(builder, loc, z, e.constant(0.0));
  Value sum = e.add(positive, e.log1p(power));
  Value threshold = e.constant(getThreshold().convertToDouble());
  return e.select(e.greater(z, threshold), x,
                  e.mul(sum, e.constant(1.0 / beta)));
}

LogicalResult EluOp::verify() { // elu-C1
  return detail::verifyFinite(*this);
}

Value EluOp::emitScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  ScalarEmitter e(builder, loc, operands);
  double scale = getScale().convertToDouble();
  Value inputScale = e.constant(getInputScale().convertToDouble());
  Value x = operands[0], power = e.expm1(e.mul(x, inputScale));
  Value below = e.mul(power, e.constant(getAlpha().convertToDouble() * scale));
  return e.select(e.greater(x, e.constant(0.0)), e.mul(x, e.constant(scale)),
                  below);
}

Value SigmoidOp::emitScalar(OpBuilder &builder, Location loc,
                            ValueRange operands) {
  ScalarEmitter e(builder, loc, operands);
  // exp overflows to infinity for very negative x, which gives 0.
  Value negated = arith::NegFOp::create(builder, loc, operands[0]);
  Value power = e.exp(negated, getType().getElementType());
  return e.quotient(e.constant(1.0), e.add(e.constant(1.0), power));
}

Value ExpOp::emitScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  return ScalarEmitter(builder, loc, operands).exp(operands[0]);
}

Value LogOp::emitScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  return ScalarEmitter(builder, loc, operands).log(operands[0]);
}

Value TanhOp::emitScalar(OpBuilder &builder, Location loc,
                         ValueRange operands) {
  return ScalarEmitter(builder, loc, operands).tanh(operands[0]);
}

Value RsqrtOp::emitScalar(OpBuilder &builder, Location loc,
                          ValueRange operands) {
  ScalarEmitter e(builder, loc, operands);
  return e.div(e.constant(1.0),
               math::SqrtOp::create(builder, loc, operands[0]));
}
