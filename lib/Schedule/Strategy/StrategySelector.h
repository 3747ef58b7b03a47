//===- StrategySelector.h - The decision about a layer ----------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SCHEDULE_STRATEGY_STRATEGYSELECTOR_H
#define TENON_LIB_SCHEDULE_STRATEGY_STRATEGYSELECTOR_H

#include "LayerPlanner.h"

namespace mlir::tenon {

/// Decides about one layer, and says why.
class StrategySelector {
public:
  StrategySelector(LinearLikeOp layer, const StrategyRequest &request);

  LogicalResult run();
  /// Seconds on each target of what `run` would decide about a layer on which
  /// nothing is written; none if it cannot be tiled.
  SmallVector<double> predictSeconds();

private:
  LogicalResult decide(const LayerPlanner &planner);
  Verdict weigh(const LayerPlan &plan);
  LogicalResult reject(const Reason &reason);
  std::optional<Reason> describeRest(ReductionMethod reduction);
  void report(const LayerPlanner &planner, const Verdict &verdict);
  bool mayMultiplyBytes();
  /// Whether the library multiplies the 8 bits of x and w on all targets.
  bool libraryMultipliesBytes();
  void widenIfNeeded();
  void setLibrary();
  void setTiled(const ScheduleChoice &choice);
  remark::RemarkOpts getOptions();

  LinearLikeOp layer;
  const StrategyRequest &request;
  /// What is written on the layer, and its schedule or the request's.
  std::optional<Strategy> written;
  ScheduleAttr schedule;
};
/// Seconds on each target of several layers one after the other.
SmallVector<double> predictApart(ArrayRef<LinearLikeOp> layers,
                                 const StrategyRequest &request);

} // namespace mlir::tenon

#endif // TENON_LIB_SCHEDULE_STRATEGY_STRATEGYSELECTOR_H
