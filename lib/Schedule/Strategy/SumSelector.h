//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The decision about layers whose products are added up.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SCHEDULE_STRATEGY_SUMSELECTOR_H
#define TENON_LIB_SCHEDULE_STRATEGY_SUMSELECTOR_H

#include "OneKernelSelector.h"

namespace mlir::tenon {

/// Decides whether layers have one kernel, with as many terms.
class SumSelector : public OneKernelSelector {
public:
  SumSelector(const LayerSum &sum, const StrategyRequest &request)
      : OneKernelSelector(sum.layers, request), sum(sum) {}

private:
  bool isOfAll(ScheduleAttr schedule) override {
    return schedule.getTerms() == std::ssize(layers);
  }
  std::optional<Reason> findObstacle() override;
  LayerProblem describeAll(ProductMethod method) override {
    return describeSum(sum, method);
  }
  ScheduleAttr finish(ScheduleAttr schedule) override {
    return schedule.withTerms(std::ssize(layers));
  }
  SmallVector<RankedTensorType> getSavedTypes() override {
    return sum.getSavedTypes();
  }

  LayerSum sum;
};

} // namespace mlir::tenon

#endif // TENON_LIB_SCHEDULE_STRATEGY_SUMSELECTOR_H
