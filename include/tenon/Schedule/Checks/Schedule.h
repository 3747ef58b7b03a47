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

#ifndef TENON_SCHEDULE_CHECKS_SCHEDULE_H
#define TENON_SCHEDULE_CHECKS_SCHEDULE_H

#include "tenon/Dialect/Tenon/IR/Tenon.h"
#include "tenon/Remarks/Reason.h"
#include "tenon/Target/TargetSpec.h"

namespace mlir::tenon {

/// Bytes of shared memory through which each warp of a mma_sync kernel turns
/// its accumulators into rows.
inline constexpr int64_t kStagingBytesPerWarp = 2048;
/// Bytes in which each warp of a block keeps what is the same for all of its
/// threads.
inline constexpr int64_t kScalarBytesPerWarp = 64;
/// Bytes of shared memory through which each consumer warpgroup of a wgmma
/// kernel turns its accumulators into rows.
inline constexpr int64_t kWarpgroupEpilogueBytes = 16384;
/// The same with ping-pong where the stages leave no more: the epilogue has
/// time there, and a fifth stage of 192x128 fits.
inline constexpr int64_t kPingPongEpilogueBytes = 12288;
/// Bytes for the barriers of a wgmma kernel.
inline constexpr int64_t kBarrierBytes = 1024;
/// With reduction = resident, where there is less room: barriers that the
/// epilogue of a warpgroup has at most.
inline constexpr int64_t kSubtileBarriers = 8;
/// With reduction = resident: bytes of a column's state, of one in the
/// workspace, where each number has a tag beside it, and of what a block keeps
/// of a column when the reduction is finished.
inline constexpr int64_t kStateBytesPerColumn = 8;
inline constexpr int64_t kTaggedStateBytes = 2 * kStateBytesPerColumn;
inline constexpr int64_t kFinishedBytesPerColumn = 8;
/// Threads of a warpgroup, which issue a wgmma together.
inline constexpr int64_t kWarpgroupThreads = 128;
/// Multiprocessors that a launch uses at most: more than any GPU has, since
/// each block has a place for a partial tile in the workspace.
inline constexpr int64_t kMaxMultiprocessors = 192;

/// Stream-K divides the last, incomplete wave and the one before it, if more
/// than 1 in so many places for tiles would stay empty; less is not worth a
/// partial tile written and read.
inline constexpr int64_t kStreamKEmptyShare = 25;

/// M, N and K at most: kernels count in 32 bits, and one is left for the sum of
/// two.
inline constexpr int64_t kMaxExtent = int64_t(1) << 30;

/// Accumulators of a thread in the main loop of a wgmma kernel: one for each of
/// its elements of the tile, and with method fp16x3 the sums that they are
/// added to.
int64_t getAccumulators(ScheduleAttr schedule);

/// Warpgroups of a wgmma kernel's block that multiply: those of a tile, and as
/// many more with ping-pong. One that copies comes to them.
int64_t getConsumerWarpgroups(ScheduleAttr schedule);

/// Bytes of shared memory that each of them has for its epilogue.
int64_t getWarpgroupEpilogueBytes(ScheduleAttr schedule);

/// Threads of a block: those that multiply, and in a wgmma kernel the warpgroup
/// that copies.
int64_t getBlockThreads(ScheduleAttr schedule);

/// Thread blocks of one launch at most: whole clusters.
int64_t getMaxBlocks(ScheduleAttr schedule);

/// Bytes of a stage: rows of x's tile and of w's.
int64_t getStageBytes(ScheduleAttr schedule);

/// Bytes of shared memory that a block uses.
int64_t getSharedBytes(ScheduleAttr schedule);

/// Bytes for the barriers of a wgmma kernel: those that it has, where a table
/// of finished columns needs the room, else kBarrierBytes.
int64_t getBarrierBytes(ScheduleAttr schedule);

/// Bytes of workspace: a flag (i64) for each block, then with stream-K a
/// partial tile in f32 for each, with reduction = resident two states for each
/// of a tile's columns, with defer two of what comes of them too; 0 with
/// neither.
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

/// Says why products of x and w of `elementType`, [M, `k`] and [N, `k`], by
/// `method` are not what `precision` (none: the type's own) asks; "" if they
/// are.
std::string findPrecisionProblem(ProductMethod method, Type elementType,
                                 std::optional<Precision> precision, int64_t k);

/// What `layer` runs as with `schedule` once x and w fit the kernel.
SmallVector<KernelKind> listKernels(LinearLikeOp layer, ScheduleAttr schedule);

/// What an epilogue runs as that has what a product alone leaves of `layer`.
KernelKind getEpilogueKernel(LinearLikeOp layer);

/// What keeps the epilogue of `op` from being computed tile by tile, if
/// anything does.
std::optional<Reason> findEpilogueObstacle(LinearLikeOp op);

/// The part of it that also keeps a kernel from reducing for a batch norm.
std::optional<Reason> findLengthObstacle(LinearLikeOp op);

/// Says in a sentence why kernels cannot compute `op` as the schedule's
/// reduction says; "" if they can, or if it is separate. Whether a target has
/// room for all tiles at once, as resident asks, is not known here.
std::string findReductionProblem(LinearLikeOp op, ScheduleAttr schedule);

/// What is done to each element of a column: times, or plus, a number or the
/// column's element of a vector.
struct AffineStep {
  bool isScale;
  Value operand;     ///< of the region; null for a number
  double scalar = 0; ///< without an operand
};

/// What the region of `op` does to the product before `norm`, in order; nothing
/// if it is other than such steps and changes of type.
std::optional<SmallVector<AffineStep>>
findAffineSteps(FusedLinearOp op, BatchNormTrainingOp norm);
/// The same of another op's region, where `product` is the accumulator.
std::optional<SmallVector<AffineStep>>
findAffineSteps(Value product, BatchNormTrainingOp norm);

/// Parts in which `method` takes elements of f32 (`tenon.split`); 0 if it takes
/// them as they are.
unsigned getSplitParts(ProductMethod method);

/// Columns of the tiles of mma_sync kernels beside others.
inline constexpr int64_t kNarrowTileColumns = 64;
/// Warps, along M and N, of such a kernel that is to have tiles of `rows` rows.
SmallVector<int64_t> getNarrowTileWarps(int64_t rows);

/// The schedule of the kernel that computes anew, as precisely as `precision`
/// asks, the tiles of a split product of `m` rows, dynamic or not, whose
/// factors say that they need it. Where `reduction` depends on the rows of a
/// tile, two_phase or resident, it has `rows` of them: every target can run it
/// that can run another mma_sync kernel with as many.
ScheduleAttr
getGuardSchedule(MLIRContext *context, Precision precision, int64_t m,
                 ReductionMethod reduction = ReductionMethod::Separate,
                 int64_t rows = 0);

} // namespace mlir::tenon

#endif // TENON_SCHEDULE_CHECKS_SCHEDULE_H
