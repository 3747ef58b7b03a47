//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The pass --tenon-unfuse: fused ops back to linears and the ops of their
// regions.
//
//===----------------------------------------------------------------------===//

#include "tenon/Dialect/Tenon/IR/Tenon.h"
#include "tenon/Transforms/Passes.h"

#include "mlir/IR/PatternMatch.h"

namespace mlir::tenon {
#define GEN_PASS_DEF_TENONUNFUSE
#include "tenon/Transforms/Passes.h.inc"
} // namespace mlir::tenon

using namespace mlir;
using namespace mlir::tenon;

static void unfuse(FusedLinearOp fused, IRRewriter &rewriter) {
  rewriter.setInsertionPoint(fused);
  auto linear = LinearOp::create(
      rewriter, fused.getLoc(), fused.getAccumulator().getType(), fused.getX(),
      fused.getW(), /*bias=*/Value(), fused.getPrecisionAttr());
  linear.inherit(fused);
  SmallVector<Value> arguments{linear};
  llvm::append_range(arguments, fused.getEpilogueOperands());
  YieldOp yield = fused.getYield();
  rewriter.inlineBlockBefore(fused.getBody(), fused, arguments);
  rewriter.replaceOp(fused, yield.getValues());
  rewriter.eraseOp(yield);
}

namespace {
struct UnfusePass : tenon::impl::TenonUnfuseBase<UnfusePass> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    getOperation()->walk([&](FusedLinearOp fused) { unfuse(fused, rewriter); });
  }
};
} // namespace
