//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A bias given to tenon.linear itself joins the epilogue as its first op.
//
//===----------------------------------------------------------------------===//

#include "tenon/Transforms/Fusion.h"

using namespace mlir;
using namespace mlir::tenon;

namespace {
struct FuseBias : OpRewritePattern<LinearOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(LinearOp linear,
                                PatternRewriter &rewriter) const override {
    if (!linear.getBias())
      return failure();
    remarkFusedBias(linear);
    toFused(linear, rewriter);
    return success();
  }
};
} // namespace

void tenon::populateFuseBiasPatterns(RewritePatternSet &patterns) {
  patterns.add<FuseBias>(patterns.getContext());
}
