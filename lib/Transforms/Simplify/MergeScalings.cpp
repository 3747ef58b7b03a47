//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// (x * a) * b becomes x * (a b).
//
//===----------------------------------------------------------------------===//

#include "tenon/Transforms/Simplify.h"

#include <cmath>

using namespace mlir;
using namespace mlir::tenon;

/// Whether x * a * b rounds as x * (a b) does, for any x of `type`. In f16 both
/// must scale up, so that what overflows on the way overflows at the end.
static bool isExact(double a, double b, Type type) {
  if (!isPowerOfTwo(a) && !isPowerOfTwo(b))
    return false;
  return hasWideRange(type) ||
         (isPowerOfTwo(a) && std::abs(a) >= 1.0 && std::abs(b) >= 1.0);
}

namespace {
struct MergeScalings : OpRewritePattern<MulOp> {
  MergeScalings(MLIRContext *context, SimplifyRules rules)
      : OpRewritePattern(context), rules(rules) {}

  LogicalResult matchAndRewrite(MulOp outer,
                                PatternRewriter &rewriter) const override {
    auto inner = outer.getInput().getDefiningOp<MulOp>();
    if (!inner || !inner->hasOneUse())
      return failure();
    std::optional<double> a = getConstantFactor(inner),
                          b = getConstantFactor(outer);
    Type type = outer.getType().getElementType();
    if (!a || !b || !isNormalFactor(*a, type) || !isNormalFactor(*b, type) ||
        !isNormalFactor(*a * *b, type))
      return failure();
    bool exact = isExact(*a, *b, type);
    if (!exact && !rules.roundingChanges)
      return failure();
    remarkSimplified(outer, "MergeScalings",
                     "two scalings by constants became one", exact);
    rewriter.replaceOpWithNewOp<MulOp>(outer, inner.getInput(), *a * *b);
    return success();
  }

  SimplifyRules rules;
};
} // namespace

void tenon::populateMergeScalingsPatterns(RewritePatternSet &patterns,
                                          SimplifyRules rules) {
  patterns.add<MergeScalings>(patterns.getContext(), rules);
}
