//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A reduction over a product's rows or columns joins its epilogue; its
// per-column results become results of the fused op.
//
//===----------------------------------------------------------------------===//

#include "tenon/Transforms/Fusion.h"

using namespace mlir;
using namespace mlir::tenon;

namespace {
struct FuseReduction : OpInterfaceRewritePattern<ReductionEpilogueOp> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;

  LogicalResult matchAndRewrite(ReductionEpilogueOp consumer,
                                PatternRewriter &rewriter) const override {
    return fuseIntoProduct(consumer, "FuseReduction", rewriter);
  }
};

template <typename OpTy> struct FuseOfRows : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy consumer,
                                PatternRewriter &rewriter) const override {
    return fuseIntoProduct(consumer, "FuseReduction", rewriter);
  }
};
} // namespace

void tenon::populateFuseReductionPatterns(RewritePatternSet &patterns) {
  patterns
      .add<FuseReduction, FuseOfRows<ReduceRowOp>, FuseOfRows<RepeatColumnsOp>>(
          patterns.getContext());
}
