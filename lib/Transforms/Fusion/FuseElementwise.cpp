//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An elementwise op on a product joins its epilogue.
//
//===----------------------------------------------------------------------===//

#include "tenon/Transforms/Fusion.h"

using namespace mlir;
using namespace mlir::tenon;

namespace {
struct FuseElementwise : OpInterfaceRewritePattern<ElementwiseEpilogueOp> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;

  LogicalResult matchAndRewrite(ElementwiseEpilogueOp consumer,
                                PatternRewriter &rewriter) const override {
    return fuseIntoProduct(consumer, "FuseElementwise", rewriter);
  }
};
} // namespace

void tenon::populateFuseElementwisePatterns(RewritePatternSet &patterns) {
  patterns.add<FuseElementwise>(patterns.getContext());
}
