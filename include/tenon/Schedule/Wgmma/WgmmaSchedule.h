//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What schedules of family wgmma have.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_SCHEDULE_WGMMA_WGMMASCHEDULE_H
#define TENON_SCHEDULE_WGMMA_WGMMASCHEDULE_H

#include "tenon/Schedule/Checks/Schedule.h"

namespace mlir::tenon {

/// Bytes of shared memory through which each consumer warpgroup of a wgmma
/// kernel turns its accumulators into rows.
inline constexpr int64_t kWarpgroupEpilogueBytes = 16384;
/// The same with ping-pong where the stages leave no more: the epilogue has
/// time there, and a fifth stage of 192x128 fits.
inline constexpr int64_t kPingPongEpilogueBytes = 12288;
/// The same with ping-pong, operands swapped and two_phase where stages leave
/// so much: sums often come of several operands, each of which has buffers.
inline constexpr int64_t kRoomyEpilogueBytes = 32768;
/// Bytes for the barriers of a wgmma kernel.
inline constexpr int64_t kBarrierBytes = 1024;
/// With reduction = resident, where there is less room: barriers that the
/// epilogue of a warpgroup has at most.
inline constexpr int64_t kSubtileBarriers = 8;
/// The same with reduction = in_tile: operands are not swapped, so no layout of
/// subtiles has more.
inline constexpr int64_t kUnswappedSubtileBarriers = 9;
/// Threads of a warpgroup, which issue a wgmma together.
inline constexpr int64_t kWarpgroupThreads = 128;

/// Accumulators of a thread in the main loop of a wgmma kernel: one for each of
/// its elements of the tile, and with method fp16x3 the sums that they are
/// added to.
int64_t getAccumulators(ScheduleAttr schedule);

/// Warpgroups of a wgmma kernel's block that multiply: those of a tile, and as
/// many more with ping-pong. One that copies comes to them.
int64_t getConsumerWarpgroups(ScheduleAttr schedule);

/// Bytes of shared memory that each of them has for its epilogue.
int64_t getWarpgroupEpilogueBytes(ScheduleAttr schedule);

/// Bytes for the barriers of a wgmma kernel: those that it has, where a table
/// of finished columns or rows needs the room, else kBarrierBytes.
int64_t getBarrierBytes(ScheduleAttr schedule);

/// What no target can run, and what `target` lacks for a schedule that some
/// target may run, in a sentence; "" if that is nothing. Numbers are as large
/// as a user likes, so products are compared by division.
std::string findWgmmaProblem(ScheduleAttr schedule, Type elementType);
std::string findWgmmaProblem(ScheduleAttr schedule, const TargetSpec &target);

} // namespace mlir::tenon

#endif // TENON_SCHEDULE_WGMMA_WGMMASCHEDULE_H
