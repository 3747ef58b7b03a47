//===- LayerPlanner.h - The best way to tile a layer ------------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SCHEDULE_STRATEGY_LAYERPLANNER_H
#define TENON_LIB_SCHEDULE_STRATEGY_LAYERPLANNER_H

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
  /// Whether layers of one x have one launch; none: auto.
  std::optional<bool> siblings;
};

/// A way to tile a layer.
struct LayerPlan {
  LayerProblem problem;
  ScheduleChoice choice;
  /// Why kernels of a better family cannot be; "" if that is not so.
  std::string betterProblem;
};

/// Finds the best way to tile a layer: its method, its reduction, its schedule.
class LayerPlanner {
public:
  /// `schedule`: what the layer, or the request, asks for; null if one is
  /// chosen.
  LayerPlanner(LinearLikeOp layer, const StrategyRequest &request,
               ScheduleAttr schedule)
      : layer(layer), request(request), schedule(schedule) {}

  /// Fails, with a message, where the schedule that is asked for cannot be.
  LogicalResult run(ArrayRef<ProductMethod> methods);

  /// The plan that takes least time, or resident within a few percent of it.
  std::optional<LayerPlan> best;
  /// If there is none, why the last one that was tried cannot be.
  std::optional<Reason> obstacle;
  /// What was found of each way to reduce for a batch norm.
  SmallVector<Reason> reductions;

private:
  LogicalResult planReduction(ProductMethod method, ReductionMethod reduction);
  std::optional<LayerPlan> plan(const LayerProblem &problem);
  LogicalResult checkSchedule(const LayerProblem &problem);
  void addMiss(ReductionMethod reduction, const Reason &reason);

  LinearLikeOp layer;
  const StrategyRequest &request;
  ScheduleAttr schedule;
};
} // namespace mlir::tenon

#endif // TENON_LIB_SCHEDULE_STRATEGY_LAYERPLANNER_H
