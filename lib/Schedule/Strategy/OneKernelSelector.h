//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The decision about layers that one kernel may have.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SCHEDULE_STRATEGY_ONEKERNELSELECTOR_H
#define TENON_LIB_SCHEDULE_STRATEGY_ONEKERNELSELECTOR_H

#include "StrategySelector.h"

namespace mlir::tenon {

/// Decides whether layers have one kernel, that of the last one, whose epilogue
/// reads what the others give, and says why. If so, all have the strategy tiled
/// and its schedule.
class OneKernelSelector {
public:
  OneKernelSelector(ArrayRef<LinearLikeOp> layers,
                    const StrategyRequest &request)
      : layers(layers), request(request) {}
  virtual ~OneKernelSelector() = default;

  /// Whether they do.
  FailureOr<bool> run();

protected:
  /// Whether a schedule is for such layers, not for one alone.
  virtual bool isOfAll(ScheduleAttr schedule) = 0;
  /// What keeps one kernel from computing them, whatever its schedule.
  virtual std::optional<Reason> findObstacle() = 0;
  virtual LayerProblem describeAll(ProductMethod method) = 0;
  /// The kernel's schedule, of one that is chosen for the problem.
  virtual ScheduleAttr finish(ScheduleAttr schedule) { return schedule; }
  /// What is neither written nor read.
  virtual SmallVector<RankedTensorType> getSavedTypes() = 0;

  SmallVector<LinearLikeOp> layers; ///< in their order
  const StrategyRequest &request;

private:
  bool isOtherwiseDecided();
  std::optional<Reason> findBest();
  std::optional<ScheduleChoice> choose(const LayerProblem &problem);
  void consider(ProductMethod method);
  LogicalResult checkSchedule();
  std::pair<bool, Reason> weigh();
  void addSaved(ValuedRemark &remark);
  void report(const Reason &reason);
  void reportMissed(const Reason &reason);
  void setTiled();
  remark::RemarkOpts getOptions();

  ScheduleAttr schedule;  ///< written on all, or asked for; or null
  bool isWritten = false; ///< on all
  std::optional<ScheduleChoice> best;
};

} // namespace mlir::tenon

#endif // TENON_LIB_SCHEDULE_STRATEGY_ONEKERNELSELECTOR_H
