//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The pass --tenon-simplify: the rules that are on, to a fixpoint.
//
//===----------------------------------------------------------------------===//

#include "tenon/Transforms/Simplify.h"
#include "tenon/Transforms/Passes.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::tenon {
#define GEN_PASS_DEF_TENONSIMPLIFY
#include "tenon/Transforms/Passes.h.inc"
} // namespace mlir::tenon

using namespace mlir;
using namespace mlir::tenon;

namespace {
struct SimplifyPass : tenon::impl::TenonSimplifyBase<SimplifyPass> {
  using TenonSimplifyBase::TenonSimplifyBase;

  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet set(context);
    SimplifyRules rules{allowRoundingChanges, rescaleStatistics};
    populateMergeScalingsPatterns(set, rules);
    populateScaleBeforeReluPatterns(set, rules);
    populateScaleBeforeBatchNormPatterns(set, rules);
    if (allowRoundingChanges) {
      populateCancelBiasPatterns(set);
      populateBatchNormInferencePatterns(set);
    }
    if (foldWeights)
      populateFoldScalePatterns(set);
    patterns = FrozenRewritePatternSet(std::move(set));
    return success();
  }

  void runOnOperation() override {
    // Each rule removes an op or moves one toward the linear, so this ends.
    GreedyRewriteConfig config;
    config.setUseTopDownTraversal(true); // remarks in the order of the text
    config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
    config.setMaxIterations(GreedyRewriteConfig::kNoLimit);
    (void)applyPatternsGreedily(getOperation(), patterns, config);
  }

  FrozenRewritePatternSet patterns;
};
} // namespace
