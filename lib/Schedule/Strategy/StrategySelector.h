//===- StrategySelector.h - The decision about a layer ----------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SCHEDULE_STRATEGY_STRATEGYSELECTOR_H
#define TENON_LIB_SCHEDULE_STRATEGY_STRATEGYSELECTOR_H

#include "Layer.h"

#include "Schedule/Prediction/ScheduleChoice.h"
#include "tenon/Schedule/Checks/ScheduleFamily.h"

namespace mlir::tenon {

/// What is asked of the choice.
struct StrategyRequest {
  SmallVector<const TargetSpec *> targets;
  std::optional<Strategy> strategy; ///< none: auto
  ScheduleAttr schedule;            ///< null: one is chosen for each layer
  std::optional<ReductionMethod> reduction; ///< none: auto
  /// Whether two layers of one x have one kernel; none: auto.
  std::optional<bool> pairs;
};

/// Decides about one layer, and says why.
class StrategySelector {
public:
  StrategySelector(LinearLikeOp layer, const StrategyRequest &request);

  LogicalResult run();
  /// Seconds on each target of what `run` would decide about a layer on which
  /// nothing is written; none if it cannot be tiled.
  SmallVector<double> predictSeconds();

private:
  /// A way to tile the layer.
  struct Plan {
    LayerProblem problem;
    ScheduleChoice choice;
    /// Why kernels of a better family cannot be; "" if that is not so.
    std::string betterProblem;
  };

  LogicalResult planAll(ArrayRef<ProductMethod> methods);
  LogicalResult planReduction(ProductMethod method, ReductionMethod reduction);
  std::optional<Plan> plan(const LayerProblem &problem);
  LogicalResult decide();
  Verdict weigh(const Plan &plan);
  LogicalResult reject(const Reason &reason);
  LogicalResult checkSchedule(const LayerProblem &layerProblem);
  void addMiss(ReductionMethod reduction, const Reason &reason);
  std::optional<Reason> describeRest(ReductionMethod reduction);
  void report(const Plan &plan, const Verdict &verdict);
  void setLibrary();
  void setTiled(const ScheduleChoice &choice);
  remark::RemarkOpts getOptions();

  LinearLikeOp layer;
  const StrategyRequest &request;
  /// What is written on the layer, and its schedule or the request's.
  std::optional<Strategy> written;
  ScheduleAttr schedule;

  /// The plan that takes least time, or resident within a few percent of it; if
  /// there is none, why the last one that was tried cannot be.
  std::optional<Plan> best;
  std::optional<Reason> obstacle;
  /// What was found of each way to reduce for a batch norm.
  SmallVector<Reason> reductions;
};
} // namespace mlir::tenon

#endif // TENON_LIB_SCHEDULE_STRATEGY_STRATEGYSELECTOR_H
