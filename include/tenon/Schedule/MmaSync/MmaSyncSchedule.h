//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What schedules of family mma_sync have, and those that stand in for others.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_SCHEDULE_MMASYNC_MMASYNCSCHEDULE_H
#define TENON_SCHEDULE_MMASYNC_MMASYNCSCHEDULE_H

#include "tenon/Schedule/Checks/Schedule.h"

namespace mlir::tenon {

/// Bytes of shared memory through which each warp of a mma_sync kernel turns
/// its accumulators into rows.
inline constexpr int64_t kStagingBytesPerWarp = 2048;
/// Columns of the tiles of mma_sync kernels beside others.
inline constexpr int64_t kNarrowTileColumns = 64;
/// Warps, along M and N, of such a kernel that is to have tiles of `rows` rows.
std::array<int64_t, 2> getNarrowTileWarps(int64_t rows);

/// Gives such a kernel tiles of whole rows of `n` columns, 256 at most, or as
/// in_tile has them `ofGroups` of columns.
void widenToRows(ScheduleParameters &parameters, int64_t n,
                 bool ofGroups = false);

/// The schedule of the kernel that computes anew, as precisely as `precision`
/// asks, the tiles of a split product of `m` rows, dynamic or not, whose
/// factors say that they need it. Where `reduction` depends on the rows of a
/// tile, two_phase or resident, it has `rows` of them: every target can run it
/// that can run another mma_sync kernel with as many. With in_tile tiles have
/// whole rows of `n` columns, or `ofGroups` of columns whole ones, with
/// reduce_only and resident_rows parts of as many.
ScheduleAttr
getGuardSchedule(MLIRContext *context, Precision precision, int64_t m,
                 ReductionMethod reduction = ReductionMethod::Separate,
                 int64_t rows = 0, int64_t n = 0, bool ofGroups = false);

/// What no target can run, and what `target` lacks for a schedule that some
/// target may run, in a sentence; "" if that is nothing. Numbers are as large
/// as a user likes, so products are compared by division.
std::string findMmaSyncProblem(ScheduleAttr schedule, Type elementType);
std::string findMmaSyncProblem(ScheduleAttr schedule, const TargetSpec &target);

} // namespace mlir::tenon

#endif // TENON_SCHEDULE_MMASYNC_MMASYNCSCHEDULE_H
