//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The pass --tenon-fuse-epilogue: one walk in block order over the fusion
// patterns.
//
//===----------------------------------------------------------------------===//

#include "tenon/Transforms/Fusion.h"
#include "tenon/Transforms/Passes.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Rewrite/PatternApplicator.h"
#include "mlir/Transforms/RegionUtils.h"

namespace mlir::tenon {
#define GEN_PASS_DEF_TENONFUSEEPILOGUE
#include "tenon/Transforms/Passes.h.inc"
} // namespace mlir::tenon

using namespace mlir;
using namespace mlir::tenon;

namespace {
struct FuseEpiloguePass : tenon::impl::TenonFuseEpilogueBase<FuseEpiloguePass> {
  using Base::Base;

  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet set(context);
    populateFuseBiasPatterns(set);
    populateFuseElementwisePatterns(set);
    populateFuseReductionPatterns(set);
    patterns = FrozenRewritePatternSet(std::move(set));
    return success();
  }

  void runOnOperation() override {
    PatternApplicator applicator(patterns);
    applicator.applyDefaultCostModel();
    PatternRewriter rewriter(&getContext());
    getOperation().walk([&](FunctionOpInterface function) {
      // What nothing reads would be written as one more result.
      (void)runRegionDCE(rewriter, function->getRegions());
      // In block order, an op is visited after all that it reads has been
      // fused, so one visit is enough and the order of the text decides.
      function->walk<WalkOrder::PreOrder>([&](Operation *op) {
        if (isa<FusedLinearOp>(op))
          return WalkResult::skip();
        return succeeded(applicator.matchAndRewrite(op, rewriter))
                   ? WalkResult::skip()
                   : WalkResult::advance();
      });
      function->walk(
          [&](FusedLinearOp fused) { fuseOperands(fused, rewriter); });
      if (remarkMissed)
        remarkMissedFusions(function);
    });
  }

  FrozenRewritePatternSet patterns;
};
} // namespace
