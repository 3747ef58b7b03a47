//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A scale [N] after a linear folds into the rows of w and into the bias,
// where all of these are parameters.
//
//===----------------------------------------------------------------------===//

#include "tenon/Transforms/Parameters.h"
#include "tenon/Transforms/Simplify.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::tenon;

/// s [N] as a column [N, 1], which multiplies the rows of w.
static Value createColumn(Value scale, PatternRewriter &rewriter) {
  auto type = cast<RankedTensorType>(scale.getType());
  auto column =
      RankedTensorType::get({type.getDimSize(0), 1}, type.getElementType());
  return tensor::ExpandShapeOp::create(rewriter, scale.getLoc(), column, scale,
                                       ArrayRef<ReassociationIndices>{{0, 1}});
}

namespace {
struct FoldScale : OpRewritePattern<MulOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(MulOp mul,
                                PatternRewriter &rewriter) const override {
    if (!mul.getOther())
      return failure();
    for (auto [product, scale] : {std::pair(mul.getInput(), mul.getOther()),
                                  std::pair(mul.getOther(), mul.getInput())})
      if (auto linear = product.getDefiningOp<LinearOp>();
          linear && canFold(linear, scale)) {
        remarkSimplified(mul, "FoldScale", "a scale folded into the weights",
                         /*exact=*/false);
        fold(mul, linear, scale, rewriter);
        return success();
      }
    return failure();
  }

private:
  static bool canFold(LinearOp linear, Value scale) {
    auto type = cast<RankedTensorType>(scale.getType());
    RankedTensorType w = linear.getW().getType();
    // 16-bit weights would be rounded once more; precision fp16 gives them the
    // range of f16, which weights may have left when they are scaled.
    Type element = w.getElementType();
    if (linear.getPrecision() == Precision::FP16)
      return false;
    if (!linear->hasOneUse() || !(element.isF32() || element.isF64()) ||
        type != RankedTensorType::get(linear.getExtents().n, element))
      return false;
    DependenceAnalysis dependence;
    return dependence.of(linear.getW()) != Dependence::Call &&
           dependence.of(scale) != Dependence::Call &&
           (!linear.getBias() ||
            dependence.of(linear.getBias()) != Dependence::Call);
  }

  static void fold(MulOp mul, LinearOp linear, Value scale,
                   PatternRewriter &rewriter) {
    Value factor = isWTransposed(linear.getLayout())
                       ? scale
                       : createColumn(scale, rewriter);
    Value w = MulOp::create(rewriter, mul.getLoc(), linear.getW(), factor);
    Value bias = linear.getBias();
    if (bias && bias.getType() != scale.getType()) // as x w^T + bias adds it
      bias = CastOp::create(rewriter, mul.getLoc(), scale.getType(), bias);
    if (bias)
      bias = MulOp::create(rewriter, mul.getLoc(), bias, scale);
    auto folded = rewriter.replaceOpWithNewOp<LinearOp>(
        mul, linear.getType(), linear.getX(), w, bias,
        linear.getPrecisionAttr());
    folded.inherit(linear);
  }
};
} // namespace

void tenon::populateFoldScalePatterns(RewritePatternSet &patterns) {
  patterns.add<FoldScale>(patterns.getContext());
}
