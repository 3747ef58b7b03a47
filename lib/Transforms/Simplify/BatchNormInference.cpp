//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Inference batch norm with the model's parameters becomes a scale and a
// shift, computed from the parameters alone.
//
//===----------------------------------------------------------------------===//

#include "tenon/Transforms/Parameters.h"
#include "tenon/Transforms/Simplify.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::tenon;

namespace {
struct BatchNormInference : OpRewritePattern<BatchNormInferenceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(BatchNormInferenceOp op,
                                PatternRewriter &rewriter) const override {
    if (isInEpilogue(op))
      return failure();
    // f16 may hold x - mean and not x times the scale.
    if (!hasWideRange(op.getType().getElementType()))
      return failure();
    // In 16 bits the scale would lose the digits that batch norm keeps.
    Type computed = getComputeType(op.getType().getElementType());
    DependenceAnalysis dependence;
    for (Value parameter : llvm::drop_begin(op.getOperands()))
      if (getElementTypeOrSelf(parameter) != computed ||
          dependence.of(parameter) == Dependence::Call)
        return failure();
    remarkSimplified(op, "BatchNormInference",
                     "batch norm became a scale and a shift", /*exact=*/false);
    Location loc = op.getLoc();
    Value scale = createScale(op, rewriter);
    Value scaled = MulOp::create(rewriter, loc, op.getInput(), scale);
    Value center = MulOp::create(rewriter, loc, op.getMean(), scale);
    if (!op.getBias()) {
      rewriter.replaceOpWithNewOp<SubOp>(op, scaled, center);
      return success();
    }
    Value shift = SubOp::create(rewriter, loc, op.getBias(), center);
    rewriter.replaceOpWithNewOp<AddOp>(op, scaled, shift);
    return success();
  }

private:
  /// weight / sqrt(variance + eps)
  static Value createScale(BatchNormInferenceOp op, PatternRewriter &rewriter) {
    Location loc = op.getLoc();
    Value sum = AddOp::create(rewriter, loc, op.getVariance(),
                              op.getEps().convertToDouble());
    Value deviation = math::SqrtOp::create(rewriter, loc, sum);
    if (op.getWeight())
      return DivOp::create(rewriter, loc, op.getWeight(), deviation);
    return DivOp::create(rewriter, loc, deviation.getType(), deviation,
                         /*other=*/Value(), rewriter.getF64FloatAttr(1.0),
                         /*scalar_first=*/true);
  }
};
} // namespace

void tenon::populateBatchNormInferencePatterns(RewritePatternSet &patterns) {
  patterns.add<BatchNormInference>(patterns.getContext());
}
