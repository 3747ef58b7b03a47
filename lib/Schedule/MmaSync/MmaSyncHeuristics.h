//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The time of a kernel of family mma_sync.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SCHEDULE_MMASYNC_MMASYNCHEURISTICS_H
#define TENON_LIB_SCHEDULE_MMASYNC_MMASYNCHEURISTICS_H

#include "Schedule/Prediction/ScheduleChoice.h"

namespace mlir::tenon {

/// Whether kernels of family mma_sync may be faster than the library where that
/// has wgmma: for rows that one mma.sync holds, where reading w is all. Of x
/// and w in 16 bits, copied 16 bytes at a time: split products of so few rows
/// were not measured.
bool isForMmaSync(const LayerProblem &problem);

/// What a schedule of family mma_sync comes to.
Prediction predictMmaSync(const LayerProblem &problem, ScheduleAttr schedule,
                          const TargetSpec &target);

} // namespace mlir::tenon

#endif // TENON_LIB_SCHEDULE_MMASYNC_MMASYNCHEURISTICS_H
