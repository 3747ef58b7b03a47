//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The schedules of family wgmma that are considered.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SCHEDULE_WGMMA_WGMMACANDIDATES_H
#define TENON_LIB_SCHEDULE_WGMMA_WGMMACANDIDATES_H

#include "Schedule/Prediction/LayerProblem.h"

#include "tenon/Target/TargetSpec.h"

namespace mlir::tenon {

/// Schedules of family wgmma that all targets can take; what is expected to be
/// best comes first.
SmallVector<ScheduleAttr>
listWgmmaSchedules(const LayerProblem &problem,
                   ArrayRef<const TargetSpec *> targets);

/// What all schedules of a problem share with tiles of m x n, by as many warps
/// along the rows, or with swapped operands the columns: without stages and
/// raster.
ScheduleParameters getWgmmaParameters(const LayerProblem &problem, int64_t m,
                                      int64_t n, int64_t warps, bool isSwapped);

/// Null if a target cannot take it, or a thread has no registers for its tile.
ScheduleAttr buildWgmmaSchedule(const LayerProblem &problem,
                                const ScheduleParameters &parameters,
                                ArrayRef<const TargetSpec *> targets);

} // namespace mlir::tenon

#endif // TENON_LIB_SCHEDULE_WGMMA_WGMMACANDIDATES_H
