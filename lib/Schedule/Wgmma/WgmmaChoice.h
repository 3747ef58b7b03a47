//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The choice of a schedule of family wgmma.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SCHEDULE_WGMMA_WGMMACHOICE_H
#define TENON_LIB_SCHEDULE_WGMMA_WGMMACHOICE_H

#include "TunedSchedules.h"

#include "Schedule/Prediction/ScheduleChoice.h"

namespace mlir::tenon {

/// The schedule of family wgmma for targets that all have it: one of `table`
/// where the layer is there, or else one whose worst ratio is about the least;
/// nothing if none can reduce as the problem says.
std::optional<ScheduleChoice> chooseWgmma(const LayerProblem &problem,
                                          ArrayRef<const TargetSpec *> targets,
                                          ArrayRef<TunedSchedule> table);

} // namespace mlir::tenon

#endif // TENON_LIB_SCHEDULE_WGMMA_WGMMACHOICE_H
