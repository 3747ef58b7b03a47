//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The decision about two layers of one x.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SCHEDULE_STRATEGY_PAIRSELECTOR_H
#define TENON_LIB_SCHEDULE_STRATEGY_PAIRSELECTOR_H

#include "OneKernelSelector.h"

namespace mlir::tenon {

/// Decides whether two layers have one kernel, with weights = 2.
class PairSelector : public OneKernelSelector {
public:
  PairSelector(const LayerPair &pair, const StrategyRequest &request)
      : OneKernelSelector({pair.gate, LinearLikeOp(FusedLinearOp(pair.layer))},
                          request),
        pair(pair) {}

private:
  bool isOfAll(ScheduleAttr schedule) override {
    return schedule.getWeights() != 1;
  }
  std::optional<Reason> findObstacle() override {
    return findPairObstacle(pair);
  }
  LayerProblem describeAll(ProductMethod method) override {
    return describePair(pair, method);
  }
  SmallVector<RankedTensorType> getSavedTypes() override {
    return pair.getSavedTypes();
  }

  LayerPair pair;
};

} // namespace mlir::tenon

#endif // TENON_LIB_SCHEDULE_STRATEGY_PAIRSELECTOR_H
