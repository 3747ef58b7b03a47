//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A constant scale s ahead of training batch norm cancels: what is left is
// its sign, eps / s^2, and running statistics in other units.
//
//===----------------------------------------------------------------------===//

#include "tenon/Transforms/Simplify.h"

#include "mlir/IR/TypeUtilities.h"

#include <cmath>

using namespace mlir;
using namespace mlir::tenon;

/// value / divisor; `divisor` is normal, and so is 1 / divisor if it is a power
/// of two.
static Value divide(Value value, double divisor, PatternRewriter &rewriter) {
  if (isPowerOfTwo(divisor))
    return MulOp::create(rewriter, value.getLoc(), value, 1.0 / divisor);
  return DivOp::create(rewriter, value.getLoc(), value, divisor);
}

namespace {
struct ScaleBeforeBatchNorm : OpRewritePattern<BatchNormTrainingOp> {
  ScaleBeforeBatchNorm(MLIRContext *context, SimplifyRules rules)
      : OpRewritePattern(context), rules(rules) {}

  LogicalResult matchAndRewrite(BatchNormTrainingOp op,
                                PatternRewriter &rewriter) const override {
    auto mul = op.getInput().getDefiningOp<MulOp>();
    if (!mul || !mul->hasOneUse() || isInEpilogue(op))
      return failure();
    std::optional<double> factor = getConstantFactor(mul);
    if (!factor || !isInRange(op, *factor))
      return failure();
    // The sign goes into the weight, the other units into four ops on [N].
    if ((*factor < 0.0 && !op.getWeight()) ||
        (!op.getStatistics().empty() && !rules.rescaledStatistics))
      return failure();
    bool exact = isPowerOfTwo(*factor) &&
                 hasWideRange(op.getResult().getType().getElementType());
    if (!exact && !rules.roundingChanges)
      return failure();
    remarkSimplified(op, "ScaleBeforeBatchNorm",
                     "batch norm cancels the scaling before it", exact);
    replace(op, mul.getInput(), *factor, rewriter);
    return success();
  }

private:
  /// Statistics are divided by the factor or its square and multiplied again,
  /// so the factor must leave them their range, and f16 has none to spare.
  static bool isInRange(BatchNormTrainingOp op, double factor) {
    constexpr double mostFactor = 0x1p16;
    if (!(std::abs(factor) <= mostFactor && std::abs(factor) >= 1 / mostFactor))
      return false;
    if (llvm::any_of(op.getStatistics(), [](Value statistic) {
          return !hasWideRange(getElementTypeOrSelf(statistic));
        }))
      return false;
    double eps = op.getEps().convertToDouble();
    return eps == 0.0 ||
           isNormalFactor(eps / (factor * factor),
                          op.getResult().getType().getElementType());
  }

  static void replace(BatchNormTrainingOp op, Value input, double factor,
                      PatternRewriter &rewriter) {
    double square = factor * factor;
    Value weight = op.getWeight(), mean = op.getRunningMean(),
          variance = op.getRunningVar();
    if (factor < 0.0)
      weight = MulOp::create(rewriter, op.getLoc(), weight, -1.0);
    if (mean) {
      mean = divide(mean, factor, rewriter);
      variance = divide(variance, square, rewriter);
    }
    auto scaled = BatchNormTrainingOp::create(
        rewriter, op.getLoc(), op.getResult().getType(),
        op.getStatistics().getTypes(), input, weight, op.getBias(), mean,
        variance, /*moments=*/Value(),
        rewriter.getF64FloatAttr(op.getEps().convertToDouble() / square),
        op.getMomentumAttr(), /*moment_rows=*/IntegerAttr(),
        op.getSaveStatisticsAttr());
    SmallVector<Value> results{scaled.getResult()};
    auto rescale = [&](ResultRange statistics, double second) {
      if (statistics.empty())
        return;
      results.push_back(
          MulOp::create(rewriter, op.getLoc(), statistics[0], factor));
      results.push_back(
          MulOp::create(rewriter, op.getLoc(), statistics[1], second));
    };
    rescale(scaled.getNewStatistics(), square);
    rescale(scaled.getSavedStatistics(), 1.0 / std::abs(factor));
    rewriter.replaceOp(op, results);
  }

  SimplifyRules rules;
};
} // namespace

void tenon::populateScaleBeforeBatchNormPatterns(RewritePatternSet &patterns,
                                                 SimplifyRules rules) {
  patterns.add<ScaleBeforeBatchNorm>(patterns.getContext(), rules);
}
