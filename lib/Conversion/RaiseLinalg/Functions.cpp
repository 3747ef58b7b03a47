//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Functions that are spelled out in tenon ops, as activations are.
//
//===----------------------------------------------------------------------===//

#include "Functions.h"

#include "tenon/Dialect/Tenon/IR/Tenon.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::tenon;

//===----------------------------------------------------------------------===//
// Matching
//===----------------------------------------------------------------------===//

/// Whether a constant of the text, of f32 or less digits, is meant to be this.
static bool isAbout(double value, double expected) {
  return std::abs(value - expected) <= 1e-4 * std::abs(expected);
}

/// The tensor to which `OpTy` adds or multiplies `number`; null if it does not.
template <typename OpTy> static Value getOther(Value value, double number) {
  auto op = value.getDefiningOp<OpTy>();
  return op && op.getScalar() && !op.getScalarFirst() &&
                 op.getScalar()->convertToDouble() == number
             ? op.getInput()
             : Value();
}

namespace {
/// A product of tensors and one number.
struct Factors {
  double number = 1;
  SmallVector<Value> tensors;
};
} // namespace

/// Adds what `value` is a product of.
static void collectFactors(Value value, Factors &factors) {
  constexpr unsigned kMost = 8;
  if (auto mul = value.getDefiningOp<MulOp>();
      mul && factors.tensors.size() < kMost) {
    if (mul.getScalar())
      factors.number *= mul.getScalar()->convertToDouble();
    else
      collectFactors(mul.getOther(), factors);
    return collectFactors(mul.getInput(), factors);
  }
  auto div = value.getDefiningOp<DivOp>();
  if (div && div.getScalar() && !div.getScalarFirst()) {
    factors.number /= div.getScalar()->convertToDouble();
    return collectFactors(div.getInput(), factors);
  }
  factors.tensors.push_back(value);
}

static Factors getFactors(Value value) {
  Factors factors;
  collectFactors(value, factors);
  return factors;
}

/// The tensor of which `value` is a multiple by about `number`.
static Value getScaled(Value value, double number) {
  Factors factors = getFactors(value);
  return factors.tensors.size() == 1 && isAbout(factors.number, number)
             ? factors.tensors[0]
             : Value();
}

/// x of `1 + exp(-x)`.
static Value getLogistic(Value value) {
  Value power = getOther<AddOp>(value, 1);
  auto exp = power ? power.getDefiningOp<ExpOp>() : ExpOp();
  return exp ? getOther<MulOp>(exp.getInput(), -1) : Value();
}

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

/// max(x, 0); max(x, -inf), with which a softmax begins
static LogicalResult toRelu(MaxOp op, PatternRewriter &rewriter) {
  if (Value x = getOther<MaxOp>(op, 0)) {
    rewriter.replaceOpWithNewOp<ReluOp>(op, x);
    return success();
  }
  Value x = getOther<MaxOp>(op, -std::numeric_limits<double>::infinity());
  if (!x)
    return failure();
  rewriter.replaceOp(op, x);
  return success();
}

/// y / (1 + exp(-x)), with y = 1 or x
static LogicalResult toSigmoid(DivOp op, PatternRewriter &rewriter) {
  Value divisor = op.getScalarFirst() ? op.getInput() : op.getOther();
  Value x = divisor ? getLogistic(divisor) : Value();
  if (!x)
    return failure();
  if (!op.getScalar() && op.getInput() == x)
    rewriter.replaceOpWithNewOp<SiluOp>(op, x);
  else if (op.getScalar() && op.getScalar()->isExactlyValue(1))
    rewriter.replaceOpWithNewOp<SigmoidOp>(op, x);
  else
    return failure();
  return success();
}

/// y / sqrt(x), of which tenon has 1 / sqrt(x)
static LogicalResult toRsqrt(DivOp op, PatternRewriter &rewriter) {
  Value divisor = op.getScalarFirst() ? op.getInput() : op.getOther();
  auto sqrt = divisor ? divisor.getDefiningOp<math::SqrtOp>() : math::SqrtOp();
  if (!sqrt)
    return failure();
  Value inverse = RsqrtOp::create(rewriter, sqrt.getLoc(), sqrt.getOperand());
  if (!op.getScalar())
    rewriter.replaceOpWithNewOp<MulOp>(op, op.getInput(), inverse);
  else if (op.getScalar()->isExactlyValue(1))
    rewriter.replaceOp(op, inverse);
  else
    rewriter.replaceOpWithNewOp<MulOp>(op, inverse,
                                       op.getScalar()->convertToDouble());
  return success();
}

/// x sigmoid(x)
static LogicalResult toSilu(MulOp op, PatternRewriter &rewriter) {
  for (auto [x, other] : {std::pair(op.getInput(), op.getOther()),
                          std::pair(op.getOther(), op.getInput())})
    if (x && other)
      if (auto sigmoid = other.getDefiningOp<SigmoidOp>();
          sigmoid && sigmoid.getInput() == x) {
        rewriter.replaceOpWithNewOp<SiluOp>(op, x);
        return success();
      }
  return failure();
}

/// x of erf(x / sqrt(2))
static Value getErf(Value value) {
  auto erf = value.getDefiningOp<math::ErfOp>();
  return erf ? getScaled(erf.getOperand(), std::sqrt(0.5)) : Value();
}

/// x of tanh(sqrt(2 / pi) (x + 0.044715 x^3))
static Value getGeluTanh(Value value) {
  auto tanh = value.getDefiningOp<TanhOp>();
  Value sum = tanh ? getScaled(tanh.getInput(), std::sqrt(2 / M_PI)) : Value();
  auto add = sum ? sum.getDefiningOp<AddOp>() : AddOp();
  if (!add || add.getScalar())
    return {};
  for (auto [x, cube] : {std::pair(add.getInput(), add.getOther()),
                         std::pair(add.getOther(), add.getInput())}) {
    Factors factors = getFactors(cube);
    if (isAbout(factors.number, 0.044715) &&
        factors.tensors == SmallVector<Value>(3, x))
      return x;
  }
  return {};
}

/// x / 2 (1 + f(x)), with one of the two functions above
static LogicalResult toGelu(MulOp op, PatternRewriter &rewriter) {
  Factors factors = getFactors(op);
  if (factors.tensors.size() != 2 || !isAbout(factors.number, 0.5))
    return failure();
  for (unsigned i : {0, 1}) {
    Value function = getOther<AddOp>(factors.tensors[i], 1);
    if (!function)
      continue;
    Value x = factors.tensors[1 - i];
    if (x == getErf(function))
      rewriter.replaceOpWithNewOp<GeluOp>(op, x);
    else if (x == getGeluTanh(function))
      rewriter.replaceOpWithNewOp<GeluOp>(op, x, GeluApproximation::Tanh);
    else
      continue;
    return success();
  }
  return failure();
}

/// The sum of a row times 1 / N
template <typename OpTy>
static LogicalResult toMean(OpTy op, PatternRewriter &rewriter) {
  auto sum = op.getInput().template getDefiningOp<ReduceRowOp>();
  if (!sum || sum.getKind() != RowReduction::Sum || !op.getScalar() ||
      op.getScalarFirst())
    return failure();
  double columns = sum.getInput().getType().getDimSize(1);
  double number = op.getScalar()->convertToDouble();
  if (std::is_same_v<OpTy, MulOp> ? float(number) != float(1 / columns)
                                  : number != columns)
    return failure();
  rewriter.replaceOpWithNewOp<ReduceRowOp>(op, RowReduction::Mean,
                                           sum.getInput());
  return success();
}

void tenon::populateFunctionPatterns(RewritePatternSet &patterns) {
  patterns.add(toRelu);
  patterns.add(toRsqrt);
  patterns.add(toSigmoid);
  patterns.add(toSilu);
  patterns.add(toGelu);
  patterns.add(toMean<DivOp>);
  patterns.add(toMean<MulOp>);
}
