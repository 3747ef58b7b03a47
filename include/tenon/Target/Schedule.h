//===- Schedule.h - What a schedule needs -----------------------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a schedule asks of a target.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TARGET_SCHEDULE_H
#define TENON_TARGET_SCHEDULE_H

#include "tenon/Dialect/Tenon/IR/Tenon.h"
#include "tenon/Target/TargetSpec.h"

namespace mlir::tenon {

/// Bytes of shared memory through which each warp turns its accumulators into
/// rows, and in which it keeps what is the same for all of its threads.
inline constexpr int64_t kStagingBytesPerWarp = 2048;
inline constexpr int64_t kScalarBytesPerWarp = 64;
/// Multiprocessors that a launch uses at most: more than any GPU has, since
/// each block has a place for a partial tile in the workspace.
inline constexpr int64_t kMaxMultiprocessors = 192;

/// M, N and K at most: kernels count in 32 bits, and one is left for the sum of
/// two.
inline constexpr int64_t kMaxExtent = int64_t(1) << 30;

/// Thread blocks of one launch at most.
int64_t getMaxBlocks(ScheduleAttr schedule);

/// Bytes of shared memory that a block uses.
int64_t getSharedBytes(ScheduleAttr schedule);

/// Bytes of workspace: a flag (i64) for each block, then a partial tile in f32
/// for each; 0 without stream-K.
int64_t getWorkspaceBytes(ScheduleAttr schedule);

/// Says why no target can run `schedule` on inputs of `elementType`; "" if one
/// may.
std::string findProblem(ScheduleAttr schedule, Type elementType);

/// Says in a sentence why `target` cannot run `schedule` on inputs of
/// `elementType`, f32 as tf32; "" if it can.
std::string findProblem(ScheduleAttr schedule, Type elementType,
                        const TargetSpec &target);

} // namespace mlir::tenon

#endif // TENON_TARGET_SCHEDULE_H
