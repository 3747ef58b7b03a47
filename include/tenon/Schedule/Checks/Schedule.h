//===- Schedule.h - What a schedule needs -----------------------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a schedule asks of a target, whatever its family.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_SCHEDULE_CHECKS_SCHEDULE_H
#define TENON_SCHEDULE_CHECKS_SCHEDULE_H

#include "tenon/Dialect/Tenon/IR/Tenon.h"
#include "tenon/Target/TargetSpec.h"

namespace mlir::tenon {

/// Bytes in which each warp of a block keeps what is the same for all of its
/// threads.
inline constexpr int64_t kScalarBytesPerWarp = 64;
/// With reduction = resident: bytes of a column's state, of one in the
/// workspace, where each number has a tag beside it, and of what a block keeps
/// of a column when the reduction is finished.
inline constexpr int64_t kStateBytesPerColumn = 8;
inline constexpr int64_t kTaggedStateBytes = 2 * kStateBytesPerColumn;
inline constexpr int64_t kFinishedBytesPerColumn = 8;
/// With reduction = in_tile: reductions of an epilogue at most, and bytes that
/// each keeps of a row.
inline constexpr int64_t kMaxRowReductions = 4;
inline constexpr int64_t kBytesOfRowState = 4;
/// Whether rows are reduced in the product's kernel, or what a tile has of
/// them.
inline bool reducesRows(ScheduleAttr schedule) {
  return schedule.getReduction() == ReductionMethod::InTile ||
         schedule.getReduction() == ReductionMethod::ReduceOnly ||
         schedule.getReduction() == ReductionMethod::ResidentRows;
}
/// With reduction = resident_rows: numbers that tiles exchange of a row at
/// most, one for each reduction, which a tagged state has.
inline constexpr int64_t kMaxExchangedNumbers = 2;
/// Arrays of shared memory with what was found of a tile's rows. With in_tile
/// and ping_pong it is of groups of columns, and stays in registers.
inline int64_t getFoundRowArrays(ScheduleAttr schedule) {
  if (schedule.getReduction() == ReductionMethod::ResidentRows)
    return kMaxExchangedNumbers;
  bool isOfRows = schedule.getReduction() == ReductionMethod::InTile &&
                  !schedule.getPingPong();
  return isOfRows ? kMaxRowReductions : 0;
}
/// With reduction = resident or resident_rows: turns whose states lie side by
/// side. A tile overwrites one of two turns before, with ping_pong of two of
/// the same warps.
inline int64_t getExchangedTurns(ScheduleAttr schedule) {
  return schedule.getPingPong() ? 4 : 2;
}
/// Multiprocessors that a launch uses at most: more than any GPU has, since
/// each block has a place for a partial tile in the workspace.
inline constexpr int64_t kMaxMultiprocessors = 192;

/// Stream-K divides the last, incomplete wave and the one before it, if more
/// than 1 in so many places for tiles would stay empty; less is not worth a
/// partial tile written and read.
inline constexpr int64_t kStreamKEmptyShare = 25;

/// Layers of one launch at most: a kernel's arguments are 4096 bytes, of which
/// each tensor map takes 128.
inline constexpr int64_t kMaxSiblings = 8;
/// Tensor maps of one launch at most.
inline constexpr int64_t kMaxSiblingMaps = 28;

/// M, N and K at most: kernels count in 32 bits, and one is left for the sum of
/// two.
inline constexpr int64_t kMaxExtent = int64_t(1) << 30;

/// What remarks say of a schedule: "wgmma fp16x3, tiles of 128x168x64 by 8
/// warps, clusters of 2x1, 4 stages, ...".
std::string describe(ScheduleAttr schedule);

/// Threads of a block: those that multiply, and in a wgmma kernel the warpgroup
/// that copies.
int64_t getBlockThreads(ScheduleAttr schedule);

/// Thread blocks of one launch at most: whole clusters.
int64_t getMaxBlocks(ScheduleAttr schedule);

/// Bytes of a stage: rows of x's tile and of each w's.
int64_t getStageBytes(ScheduleAttr schedule);

/// Bytes of shared memory that a block uses beside stages and epilogue.
int64_t getUsualBytes(ScheduleAttr schedule);

/// Bytes of shared memory that a block uses.
int64_t getSharedBytes(ScheduleAttr schedule);

/// Bytes of workspace: a flag (i64) for each block, then with stream-K a
/// partial tile in f32 for each, with reduction = resident two states for each
/// of a tile's columns, with defer two of what comes of them too, with
/// resident_rows getExchangedTurns() of its rows; 0 with none.
int64_t getWorkspaceBytes(ScheduleAttr schedule);

/// Says why no target can run `schedule` on inputs of `elementType`; "" if one
/// may.
std::string findProblem(ScheduleAttr schedule, Type elementType);

/// Says in a sentence why `target` cannot run `schedule` on inputs of
/// `elementType`, f32 as tf32; "" if it can.
std::string findProblem(ScheduleAttr schedule, Type elementType,
                        const TargetSpec &target);

/// Says why kernels of `family` cannot multiply inputs of `elementType` with
/// this K; "" if they can.
std::string findExtentProblem(KernelFamily family, Type elementType, int64_t k);

/// Says why kernels of `schedule` cannot multiply inputs of `elementType` and
/// these extents that lie so; "" if they can.
std::string findLayoutProblem(ScheduleAttr schedule, Type elementType,
                              std::optional<OperandLayout> layout,
                              const ProductExtents &extents);

} // namespace mlir::tenon

#endif // TENON_SCHEDULE_CHECKS_SCHEDULE_H
