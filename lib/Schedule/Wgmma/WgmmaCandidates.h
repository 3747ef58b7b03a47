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

/// Whether a thread has registers for a tile of family wgmma; those that
/// findProblem refuses aside.
bool fitsWgmmaRegisters(const LayerProblem &problem, ScheduleAttr schedule);

} // namespace mlir::tenon

#endif // TENON_LIB_SCHEDULE_WGMMA_WGMMACANDIDATES_H
