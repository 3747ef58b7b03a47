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

#include "StrategySelector.h"

namespace mlir::tenon {

/// Decides whether two layers have one kernel, and says why. If so, both have
/// the strategy tiled and its schedule, with weights = 2.
class PairSelector {
public:
  PairSelector(const LayerPair &pair, const StrategyRequest &request)
      : pair(pair), request(request) {}

  /// Whether they do.
  FailureOr<bool> run();

private:
  bool isOtherwiseDecided();
  std::optional<Reason> findBest();
  std::optional<ScheduleChoice> choose(const LayerProblem &problem);
  void consider(ProductMethod method);
  LogicalResult checkSchedule();
  std::pair<bool, Reason> weigh();
  void report(const Reason &reason);
  void reportMissed(const Reason &reason);
  void setTiled();
  /// In their order.
  SmallVector<LinearLikeOp> getLayers() const {
    return {pair.gate, LinearLikeOp(FusedLinearOp(pair.layer))};
  }
  remark::RemarkOpts getOptions();

  LayerPair pair;
  const StrategyRequest &request;
  ScheduleAttr schedule;  ///< written on both, or asked for; or null
  bool isWritten = false; ///< on both
  std::optional<ScheduleChoice> best;
};

} // namespace mlir::tenon

#endif // TENON_LIB_SCHEDULE_STRATEGY_PAIRSELECTOR_H
