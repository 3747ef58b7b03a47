//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A positive constant factor after relu or leaky_relu moves before it, toward
// the linear, where the product can take it.
//
//===----------------------------------------------------------------------===//

#include "tenon/Transforms/Simplify.h"

#include <cmath>

using namespace mlir;
using namespace mlir::tenon;

namespace {
template <typename ActivationOp> struct ScaleBefore : OpRewritePattern<MulOp> {
  ScaleBefore(MLIRContext *context, SimplifyRules rules)
      : OpRewritePattern<MulOp>(context), rules(rules) {}

  LogicalResult matchAndRewrite(MulOp mul,
                                PatternRewriter &rewriter) const override {
    auto activation = mul.getInput().getDefiningOp<ActivationOp>();
    std::optional<double> factor = getConstantFactor(mul);
    // An infinite factor would make NaN of the zeros that the activation gives.
    if (!activation || !activation->hasOneUse() || !factor ||
        !(*factor > 0.0) || std::isinf(*factor))
      return failure();
    bool exact = isExact(activation, *factor);
    if (!exact && (!rules.roundingChanges || mayOverflow(activation, *factor)))
      return failure();
    remarkSimplified(mul, "ScaleBeforeRelu",
                     "a scaling moved before " +
                         activation->getName().getStringRef().str(),
                     exact);
    Value scaled = MulOp::create(rewriter, mul.getLoc(), activation.getInput(),
                                 mul.getScalarAttr().getValueAsDouble());
    Operation *moved = rewriter.clone(*activation);
    moved->setOperand(0, scaled);
    rewriter.replaceOp(mul, moved);
    return success();
  }

  // Either side is 0 or one product.
  static bool isExact(ReluOp, double) { return true; }
  // A negative x is multiplied by the slope and the factor, in either order.
  static bool isExact(LeakyReluOp op, double factor) {
    Type type = op.getType().getElementType();
    double slope =
        roundToComputeType(op.getNegativeSlope().convertToDouble(), type);
    return hasWideRange(type) && (isPowerOfTwo(factor) || isPowerOfTwo(slope));
  }

  /// Whether f16 may not hold what the factor makes of x, though it holds what
  /// a slope before it leaves.
  static bool mayOverflow(ReluOp, double) { return false; }
  static bool mayOverflow(LeakyReluOp op, double factor) {
    return factor > 1.0 && !hasWideRange(op.getType().getElementType());
  }

  SimplifyRules rules;
};
} // namespace

void tenon::populateScaleBeforeReluPatterns(RewritePatternSet &patterns,
                                            SimplifyRules rules) {
  patterns.add<ScaleBefore<ReluOp>, ScaleBefore<LeakyReluOp>>(
      patterns.getContext(), rules);
}
