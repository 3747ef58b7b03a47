//===- StrategySelector.h - The decision about a layer ----------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_TARGET_STRATEGYSELECTOR_H
#define TENON_LIB_TARGET_STRATEGYSELECTOR_H

#include "Layer.h"

#include "mlir/IR/Remarks.h"

namespace mlir::tenon {

/// What tiled must be predicted to take of the library's time, for mma_sync.
/// The prediction was off by more than this for some of the layers in
/// benchmarks/results/auto.json, and the library is the known quantity.
inline constexpr double kMmaSyncRatio = 0.9;
/// The same for wgmma where rows are so few that reading w is all: the
/// prediction was too low by up to 2 there
/// (benchmarks/results/sm90a_sweep.json).
inline constexpr double kFewRowsRatio = 0.5;

/// What is asked of the choice.
struct StrategyRequest {
  SmallVector<const TargetSpec *> targets;
  std::optional<Strategy> strategy; ///< none: auto
  ScheduleAttr schedule;            ///< null: one is chosen for each layer
  std::optional<ReductionMethod> reduction; ///< none: auto
};

/// Decides about one layer, and says why.
class StrategySelector {
public:
  StrategySelector(const Layer &layer, const StrategyRequest &request);

  LogicalResult run();

private:
  /// A way to tile the layer.
  struct Plan {
    LayerProblem problem;
    ScheduleChoice choice;
    /// Why a layer that would multiply with wgmma takes mma_sync; "" if it does
    /// not.
    std::string wgmmaProblem;
  };

  LogicalResult planAll(ArrayRef<ProductMethod> methods);
  LogicalResult planReduction(ProductMethod method, ReductionMethod reduction);
  std::optional<Plan> plan(const LayerProblem &problem);
  LogicalResult decide();
  std::pair<bool, std::string> weigh(const Plan &plan);
  LogicalResult reject(const TiledObstacle &obstacle);
  LogicalResult checkSchedule(const LayerProblem &layerProblem);
  void addMiss(ReductionMethod reduction, const std::string &reason);
  std::string describeRest(ReductionMethod reduction);
  void setLibrary();
  void setTiled(const ScheduleChoice &choice);
  remark::RemarkOpts getOptions();

  const Layer &layer;
  Operation *op;
  const StrategyRequest &request;
  /// What is written on the layer, and its schedule or the request's.
  std::optional<Strategy> written;
  ScheduleAttr schedule;

  /// The plan that takes least time; if there is none, why the last one that
  /// was tried cannot be.
  std::optional<Plan> best;
  std::optional<TiledObstacle> obstacle;
  /// What was found of each way to reduce for a batch norm.
  std::string reductions;
};
} // namespace mlir::tenon

#endif // TENON_LIB_TARGET_STRATEGYSELECTOR_H
