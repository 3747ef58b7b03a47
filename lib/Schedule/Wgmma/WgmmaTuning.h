//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SCHEDULE_WGMMA_WGMMATUNING_H
#define TENON_LIB_SCHEDULE_WGMMA_WGMMATUNING_H

#include "Schedule/Prediction/LayerProblem.h"

#include "tenon/Schedule/Checks/ScheduleFamily.h"

namespace mlir::tenon {

/// Schedules of family wgmma that all targets can take and that measuring may
/// find to be the best: tiles, forms, rasters and numbers of stages beyond
/// those of listWgmmaSchedules. Of the same rank the first comes first.
SmallVector<RankedSchedule>
rankWgmmaSchedules(const LayerProblem &problem,
                   ArrayRef<const TargetSpec *> targets);

} // namespace mlir::tenon

#endif // TENON_LIB_SCHEDULE_WGMMA_WGMMATUNING_H
