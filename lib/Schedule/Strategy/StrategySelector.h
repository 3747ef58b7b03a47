//===- StrategySelector.h - The decision about a layer ----------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SCHEDULE_STRATEGY_STRATEGYSELECTOR_H
#define TENON_LIB_SCHEDULE_STRATEGY_STRATEGYSELECTOR_H

#include "Layer.h"

namespace mlir::tenon {

/// A target on which cuBLAS has a faster instruction than mma.sync; null if
/// there is none. In bursts on an H200 (benchmarks/results/auto.json) no layer
/// was faster tiled, whatever was predicted.
const TargetSpec *findFasterLibrary(const LayerProblem &problem,
                                    ArrayRef<const TargetSpec *> targets);

/// Whether cuBLAS computes a product of tf32 as one of f32: of one row it did
/// (1x4096x4096, benchmarks/results/sm90a_sweep.json), of 16 it rounds x and w.
bool libraryErrsLess(const LayerProblem &problem);

/// What tiled may be predicted to take of the library's time.
double getLimit(const LayerProblem &problem, const ScheduleChoice &choice);

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
  StrategySelector(LinearLikeOp layer, const StrategyRequest &request);

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
  std::pair<bool, Reason> weigh(const Plan &plan);
  LogicalResult reject(const Reason &reason);
  LogicalResult checkSchedule(const LayerProblem &layerProblem);
  void addMiss(ReductionMethod reduction, const Reason &reason);
  std::optional<Reason> describeRest(ReductionMethod reduction);
  void report(const Plan &plan, bool isTiled, const Reason &reason);
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
