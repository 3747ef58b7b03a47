//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SCHEDULE_STRATEGY_FAMILYCHOICE_H
#define TENON_LIB_SCHEDULE_STRATEGY_FAMILYCHOICE_H

#include "Schedule/Prediction/LayerProblem.h"

#include "tenon/Schedule/Checks/ScheduleFamily.h"

namespace mlir::tenon {

/// The best family that all targets have; null if there is none.
const ScheduleFamily *findBestFamily(ArrayRef<const TargetSpec *> targets);

/// The family of which a schedule is chosen, null if there is none, and why it
/// is not a better one that all targets have; "" if it is, or if a target or
/// the method is not for that.
struct FamilyChoice {
  const ScheduleFamily *family;
  std::string betterProblem;
};
FamilyChoice chooseFamily(const LayerProblem &problem,
                          ArrayRef<const TargetSpec *> targets);

} // namespace mlir::tenon

#endif // TENON_LIB_SCHEDULE_STRATEGY_FAMILYCHOICE_H
