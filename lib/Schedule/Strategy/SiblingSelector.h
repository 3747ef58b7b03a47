//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Decides whether several layers of one x have one launch, and says why.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SCHEDULE_STRATEGY_SIBLINGSELECTOR_H
#define TENON_LIB_SCHEDULE_STRATEGY_SIBLINGSELECTOR_H

#include "StrategySelector.h"

namespace mlir::tenon {

/// Decides whether layers have one launch, and says why. If so, all have the
/// strategy tiled and its schedule, with as many siblings, and stand beside
/// each other.
class SiblingSelector {
public:
  /// `layers` may have a launch together, as `findSiblings` says.
  SiblingSelector(ArrayRef<LinearLikeOp> layers, const StrategyRequest &request)
      : layers(layers), request(request) {}

  /// Those behind `first` in its block that one launch may have with it, itself
  /// first: they read its x and need no result of each other. None of `taken`.
  static SmallVector<LinearLikeOp>
  findSiblings(LinearLikeOp first, const StrategyRequest &request,
               const DenseSet<Operation *> &taken);

  /// Whether they do.
  FailureOr<bool> run();

private:
  LogicalResult checkSchedule(ScheduleAttr schedule);
  bool canHave(ProductMethod method);
  void consider(ProductMethod method);
  bool isFaster();
  remark::RemarkOpts getRemarkOptions(StringRef name);
  void report();
  void setTiled();

  ArrayRef<LinearLikeOp> layers;
  const StrategyRequest &request;
  std::optional<ScheduleChoice> best;
};

} // namespace mlir::tenon

#endif // TENON_LIB_SCHEDULE_STRATEGY_SIBLINGSELECTOR_H
