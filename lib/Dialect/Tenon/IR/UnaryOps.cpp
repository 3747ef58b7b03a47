//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Unary elementwise ops: folding, verification, emission.
//
//===----------------------------------------------------------------------===//

#include "ScalarEmitter.h"

#include "tenon/Dialect/Tenon/IR/Tenon.h"

#include <cmath>

using namespace mlir;
using namespace mlir::tenon;

//===----------------------------------------------------------------------===//
// Folding and verification
//===----------------------------------------------------------------------===//

OpFoldResult ReluOp::fold(FoldAdaptor) {
  Operation *producer = getInput().getDefiningOp();
  if (isa_and_nonnull<ReluOp>(producer))
    return getInput();
  if (auto clamp = dyn_cast_or_null<ClampOp>(producer);
      clamp && minimum(clamp.getMin(), clamp.getMax()) > APFloat(0.0))
    return getInput();
  return {};
}

OpFoldResult LeakyReluOp::fold(FoldAdaptor) {
  return getNegativeSlope().convertToDouble() == 1.0 ? getInput() : Value();
}

LogicalResult LeakyReluOp::verify() {
  // leaky_relu-C1
  if (getNegativeSlope().isFinite())
    return success();
  return emitOpError("negative_slope must be finite, but is ")
         << getNegativeSlopeAttr();
}

OpFoldResult ClampOp::fold(FoldAdaptor) {
  bool unbounded = getMin().isInfinity() && getMin().isNegative() &&
                   getMax().isInfinity() && !getMax().isNegative();
  return unbounded ? getInput() : Value();
}

/// A clamp of a clamp is one clamp, with the inner bounds clamped by the outer.
LogicalResult ClampOp::canonicalize(ClampOp op, PatternRewriter &rewriter) {
  auto inner = op.getInput().getDefiningOp<ClampOp>();
  if (!inner)
    return failure();
  auto apply = [&](const APFloat &bound) {
    return rewriter.getFloatAttr(
        rewriter.getF64Type(),
        minimum(maximum(bound, op.getMin()), op.getMax()));
  };
  // The inner clamp of min > max is the constant max, which apply keeps.
  rewriter.replaceOpWithNewOp<ClampOp>(op, op.getType(), inner.getInput(),
                                       apply(inner.getMin()),
                                       apply(inner.getMax()));
  return success();
}

LogicalResult ClampOp::verify() {
  // clamp-C1
  if (getMin().isNaN())
    return emitOpError("min must not be NaN");
  if (getMax().isNaN())
    return emitOpError("max must not be NaN");
  return success();
}

/// What is rounded already stays as it is.
OpFoldResult RoundTf32Op::fold(FoldAdaptor) {
  return getInput().getDefiningOp<RoundTf32Op>() ? getInput() : Value();
}

LogicalResult RoundTf32Op::verify() {
  // round_tf32-C1
  if (getType().getElementType().isF32())
    return success();
  return emitOpError("rounds f32, but is given ")
         << getInput().getType()
         << "; remove it: 16 bits are exact in tf32, and f64 is never rounded";
}

/// A cast of a widening cast is one cast: the inner one is exact.
OpFoldResult CastOp::fold(FoldAdaptor) {
  if (getInput().getType() == getType())
    return getInput();
  auto inner = getInput().getDefiningOp<CastOp>();
  if (!inner || !inner.getType().getElementType().isF32())
    return {};
  if (inner.getInput().getType() == getType())
    return inner.getInput();
  getInputMutable().assign(inner.getInput());
  return getResult();
}

LogicalResult CastOp::verify() {
  RankedTensorType from = getInput().getType(), to = getType();
  // cast-C1
  if (from.getElementType().isF64() || to.getElementType().isF64())
    return emitOpError("converts between f32, f16 and bf16, but is from ")
           << from << " to " << to
           << "; a model's f64 tensors stay f64, so convert outside of it";
  // cast-C2
  if (from.getShape() != to.getShape())
    return emitOpError("keeps the shape, but is from ") << from << " to " << to;
  return success();
}

//===----------------------------------------------------------------------===//
// Emission
//===----------------------------------------------------------------------===//

static ScalarEmitter emitterFor(OpBuilder &builder, Location loc,
                                ValueRange operands) {
  return {builder, loc, operands[0].getType()};
}

Value ReluOp::emitScalar(OpBuilder &builder, Location loc,
                         ValueRange operands) {
  ScalarEmitter e = emitterFor(builder, loc, operands);
  return arith::MaximumFOp::create(builder, loc, operands[0], e.constant(0.0));
}

Value LeakyReluOp::emitScalar(OpBuilder &builder, Location loc,
                              ValueRange operands) {
  ScalarEmitter e = emitterFor(builder, loc, operands);
  Value slope = e.constant(getNegativeSlope().convertToDouble());
  Value x = operands[0];
  return e.select(e.greater(x, e.constant(0.0)), x, e.mul(x, slope));
}

/// log2 of Phi(-t), the normal distribution's lower tail, for t >= 0: the
/// coefficients that scripts/fit_gelu.py prints. The last is negative, so that
/// the tail goes on to 0 beyond the range of the fit.
static constexpr float kLog2Tail[] = {
    -1.0f,           -1.15110588f,     -0.459199637f,    -0.0525308698f,
    0.00712690409f,  -0.000196377674f, -0.000156814596f, 3.21381667e-05f,
    -2.13713702e-06f};

/// max(x, 0) - |x| Phi(-|x|): the tail needs one exp2, and the subtraction
/// cancels nothing.
static Value emitExactGelu(ScalarEmitter &e, Value x) {
  // Phi(-16) is 0 in f32. The bound keeps +infinity away from that 0, times
  // which it is NaN. -infinity gives NaN so, as gelu-R1 demands.
  Value t = math::AbsFOp::create(
      e.builder, e.loc,
      arith::MinimumFOp::create(e.builder, e.loc, x, e.constant(16.0)));
  Value power = e.constant(std::rbegin(kLog2Tail)[0]);
  for (float coefficient : llvm::drop_begin(llvm::reverse(kLog2Tail)))
    power = e.add(e.mul(power, t), e.constant(coefficient));
  Value tail = math::Exp2Op::create(e.builder, e.loc, power);
  Value positive =
      arith::MaximumFOp::create(e.builder, e.loc, x, e.constant(0.0));
  return e.sub(positive, e.mul(t, tail));
}

Value GeluOp::emitScalar(OpBuilder &builder, Location loc,
                         ValueRange operands) {
  ScalarEmitter e = emitterFor(builder, loc, operands);
  Value x = operands[0];
  bool exact = getApproximate() == GeluApproximation::None;
  if (exact && x.getType().isF32())
    return emitExactGelu(e, x);
  Value inner;
  if (exact) {
    inner = math::ErfOp::create(builder, loc, e.mul(x, e.constant(M_SQRT1_2)));
  } else {
    // sqrt(2 / pi) (x + 0.044715 x^3)
    Value square = e.mul(x, x);
    Value polynomial = e.add(e.mul(e.mul(square, x), e.constant(0.044715)), x);
    inner = e.tanh(e.mul(polynomial, e.constant(M_2_SQRTPI * M_SQRT1_2)));
  }
  return e.mul(e.mul(x, e.constant(0.5)), e.add(inner, e.constant(1.0)));
}

Value SiluOp::emitScalar(OpBuilder &builder, Location loc,
                         ValueRange operands) {
  ScalarEmitter e = emitterFor(builder, loc, operands);
  // x / (1 + exp(-x)), not x * sigmoid(x): one rounding less.
  Value negated = arith::NegFOp::create(builder, loc, operands[0]);
  return e.div(operands[0], e.add(e.constant(1.0), e.exp(negated)));
}

Value MishOp::emitScalar(OpBuilder &builder, Location loc,
                         ValueRange operands) {
  ScalarEmitter e = emitterFor(builder, loc, operands);
  Value x = operands[0];
  // tanh(log(1 + e)) = n / (n + 2), n = e (e + 2): no cancellation for small e.
  Value exponential = e.exp(x);
  Value n = e.mul(exponential, e.add(exponential, e.constant(2.0)));
  Value ratio = e.div(n, e.add(n, e.constant(2.0)));
  // e overflows further out, where the ratio is 1 to the last bit.
  return e.select(e.greater(x, e.constant(20.0)), x, e.mul(x, ratio));
}

Value SigmoidOp::emitScalar(OpBuilder &builder, Location loc,
                            ValueRange operands) {
  ScalarEmitter e = emitterFor(builder, loc, operands);
  // exp overflows to infinity for very negative x, which gives 0.
  Value negated = arith::NegFOp::create(builder, loc, operands[0]);
  return e.div(e.constant(1.0), e.add(e.constant(1.0), e.exp(negated)));
}

Value TanhOp::emitScalar(OpBuilder &builder, Location loc,
                         ValueRange operands) {
  return emitterFor(builder, loc, operands).tanh(operands[0]);
}

Value ClampOp::emitScalar(OpBuilder &builder, Location loc,
                          ValueRange operands) {
  ScalarEmitter e = emitterFor(builder, loc, operands);
  Value low = e.constant(getMin().convertToDouble());
  Value high = e.constant(getMax().convertToDouble());
  Value bounded = arith::MaximumFOp::create(builder, loc, operands[0], low);
  return arith::MinimumFOp::create(builder, loc, bounded, high);
}

/// Half of the last bit kept is added to the magnitude, of which the lower bits
/// are then cut off: a carry goes into the exponent, up to infinity.
Value RoundTf32Op::emitScalar(OpBuilder &builder, Location loc,
                              ValueRange operands) {
  ScalarEmitter e = emitterFor(builder, loc, operands);
  Value x = operands[0];
  auto integer = [&](int32_t value) -> Value {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getI32IntegerAttr(value));
  };
  Value bits = arith::BitcastOp::create(builder, loc, builder.getI32Type(), x);
  Value sum = arith::AddIOp::create(builder, loc, bits, integer(1 << 12));
  Value cut = arith::AndIOp::create(builder, loc, sum, integer(-(1 << 13)));
  Value rounded = arith::BitcastOp::create(builder, loc, e.type, cut);
  // A NaN's payload may be in the lower bits alone, or overflow into the sign.
  Value isNaN =
      arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNO, x, x);
  return e.select(isNaN, e.constant(std::nan("")), rounded);
}

/// Scalars are in the compute type; what is stored is rounded there.
Value CastOp::emitScalar(OpBuilder &, Location, ValueRange operands) {
  return operands[0];
}
