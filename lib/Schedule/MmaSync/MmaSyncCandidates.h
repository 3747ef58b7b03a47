//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The schedules of family mma_sync that are considered.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SCHEDULE_MMASYNC_MMASYNCCANDIDATES_H
#define TENON_LIB_SCHEDULE_MMASYNC_MMASYNCCANDIDATES_H

#include "Schedule/Prediction/ScheduleChoice.h"

namespace mlir::tenon {

/// Schedules of family mma_sync that all targets can take: of two that are
/// predicted the same time, the first is better.
SmallVector<ScheduleAttr>
listMmaSyncSchedules(const LayerProblem &problem,
                     ArrayRef<const TargetSpec *> targets);

/// The schedule of family mma_sync whose worst ratio is the least; nothing if
/// no schedule runs on all targets.
std::optional<ScheduleChoice>
chooseMmaSync(const LayerProblem &problem,
              ArrayRef<const TargetSpec *> targets);

} // namespace mlir::tenon

#endif // TENON_LIB_SCHEDULE_MMASYNC_MMASYNCCANDIDATES_H
