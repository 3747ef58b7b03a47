//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a schedule of family wgmma asks.
//
//===----------------------------------------------------------------------===//

#include "tenon/Schedule/Wgmma/WgmmaSchedule.h"

#include "tenon/Schedule/Checks/ScheduleFamily.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::tenon;
using llvm::formatv;

/// Accumulators of a thread at most: the rest of its 232 registers or more
/// holds addresses, loops and what an epilogue computes with.
static constexpr int64_t kMaxAccumulators = 192;
/// With method fp16 the factors of rows come to that, and with a reduction what
/// was found of columns. With fp16x3 factors do too, but half of the
/// accumulators are no longer needed by then.
static constexpr int64_t kMaxScaledAccumulators = 176;
/// With defer: up to three quarters as many again are held.
static constexpr int64_t kMaxDeferredAccumulators = 128;
/// Rows that one copy by TMA moves at most.
static constexpr int64_t kMaxTileRows = 256;
/// Rows of one wgmma.
static constexpr int64_t kWgmmaRows = 64;

/// Whether accumulators are added to sums beside them.
static bool hasSums(ScheduleAttr schedule) {
  return schedule.getMethodTraits().hasPartialSums;
}

int64_t tenon::getAccumulators(ScheduleAttr schedule) {
  int64_t elements =
      schedule.getTile()[0] * schedule.getTile()[1] * schedule.getWeights();
  return elements / schedule.getNumThreads() * (hasSums(schedule) ? 2 : 1);
}

int64_t tenon::getConsumerWarpgroups(ScheduleAttr schedule) {
  int64_t ofTile = schedule.getNumThreads() / kWarpgroupThreads;
  return schedule.getPingPong() ? 2 * ofTile : ofTile;
}

int64_t tenon::getBarrierBytes(ScheduleAttr schedule) {
  bool isInTile = schedule.getReduction() == ReductionMethod::InTile;
  if (!isInTile && schedule.getReduction() != ReductionMethod::Resident)
    return kBarrierBytes;
  // Two of 8 bytes for each stage, those of each warpgroup's subtiles, and with
  // defer one for the table behind them, which begins at a multiple of 16.
  int64_t ofSubtiles = isInTile ? kUnswappedSubtileBarriers : kSubtileBarriers;
  return 16 * schedule.getStages() +
         llvm::alignTo(8 * ofSubtiles * getConsumerWarpgroups(schedule), 16) +
         (schedule.getDefer() ? 16 : 0);
}

int64_t tenon::getWarpgroupEpilogueBytes(ScheduleAttr schedule) {
  // Nothing that has columns is stored.
  if (schedule.getReduction() == ReductionMethod::ReduceOnly)
    return 0;
  int64_t warpgroups = getConsumerWarpgroups(schedule);
  auto fits = [&](int64_t bytes) {
    int64_t left = lookupTarget("sm_90a")->sharedBytesPerBlock -
                   getUsualBytes(schedule) - warpgroups * bytes;
    return schedule.getStages() <= left / getStageBytes(schedule);
  };
  if (!schedule.getPingPong())
    return kWarpgroupEpilogueBytes;
  if (schedule.hasSwappedOperands() &&
      schedule.getReduction() == ReductionMethod::TwoPhase &&
      fits(kRoomyEpilogueBytes))
    return kRoomyEpilogueBytes;
  return fits(kWarpgroupEpilogueBytes) ? kWarpgroupEpilogueBytes
                                       : kPingPongEpilogueBytes;
}

/// Warps along M, or with swapped operands N, one or two warpgroups of them.
static std::string findWarpProblem(ScheduleAttr schedule) {
  ArrayRef<int64_t> warps = schedule.getWarps();
  int64_t numWarps = schedule.getNumWarps();
  if ((numWarps != 4 && numWarps != 8) || (warps[0] != 1 && warps[1] != 1))
    return formatv("wgmma needs warps = 4x1, one warpgroup a tile, or 8x1, "
                   "two, or with swapped operands 1x4 or 1x8, not {0}x{1}",
                   warps[0], warps[1]);
  if (schedule.getPingPong() && numWarps != 4)
    return formatv("with ping_pong each tile has one warpgroup; write warps = "
                   "{0}, or leave out ping_pong",
                   schedule.hasSwappedOperands() ? "1x4" : "4x1");
  return "";
}

/// The rows of each warpgroup, or with swapped operands its columns, are one to
/// three wgmmas.
static std::string findTileProblem(ScheduleAttr schedule) {
  int64_t m = schedule.getTile()[0], n = schedule.getTile()[1];
  StringRef rowsName = "M", columnsName = "N";
  int64_t along = m, across = n;
  if (schedule.hasSwappedOperands()) {
    std::swap(rowsName, columnsName);
    std::swap(along, across);
  }
  int64_t warpgroups = schedule.getNumThreads() / kWarpgroupThreads;
  int64_t rows = kWgmmaRows * warpgroups;
  int64_t maxRows = std::min(3 * rows, kMaxTileRows);
  if (along % rows != 0 || along > maxRows)
    return formatv("{0} of the tile must be a multiple of {1} up to {2} with "
                   "{3} warps along it, not {4}",
                   rowsName, rows, maxRows / rows * rows,
                   schedule.getNumWarps(), along);
  // Those of several weights are side by side.
  int64_t maxColumns =
      256 / (schedule.hasSwappedOperands() ? 1 : schedule.getWeights());
  if (across % 8 != 0 || across > maxColumns)
    return formatv("{0} of the tile must be a multiple of 8 up to {1}, not {2}",
                   columnsName, maxColumns, across);
  int64_t accumulators = getAccumulators(schedule);
  // With ping_pong tiles have groups of columns.
  bool ofRows = schedule.getReduction() == ReductionMethod::ResidentRows ||
                (schedule.getReduction() == ReductionMethod::InTile &&
                 schedule.getPingPong());
  bool needsMore = schedule.getReduction() == ReductionMethod::Resident ||
                   (!hasSums(schedule) && (schedule.isSplit() || ofRows));
  int64_t maxAccumulators =
      needsMore ? kMaxScaledAccumulators : kMaxAccumulators;
  if (accumulators > maxAccumulators)
    return formatv("a tile of {0}x{1} gives a thread {2} accumulators{3}, more "
                   "than the {4} that its registers hold; use a smaller tile",
                   m, n, accumulators,
                   hasSums(schedule)
                       ? formatv(", two an element with method {0}",
                                 stringifyProductMethod(schedule.getMethod()))
                             .str()
                       : "",
                   maxAccumulators);
  return "";
}

/// Blocks of a cluster each copy half of the rows that they share, in whole
/// periods of the swizzle.
static std::string findClusterProblem(ScheduleAttr schedule) {
  int64_t m = schedule.getClusterM(), n = schedule.getClusterN();
  if (m > 2 || n > 2 || (m == 2 && n == 2))
    return formatv("cluster must be 1x1, 2x1 or 1x2, not {0}x{1}", m, n);
  if (m == 2 && schedule.getTile()[1] % 16 != 0)
    return formatv("with cluster = 2x1 N of the tile must be a multiple of 16, "
                   "half of its rows of w for each block, not {0}; use another "
                   "N, or cluster = 1x2",
                   schedule.getTile()[1]);
  if (n == 2 && schedule.getTile()[0] % 16 != 0)
    return formatv("with cluster = 1x2 M of the tile must be a multiple of 16, "
                   "half of its rows of x for each block, not {0}; use another "
                   "M, or cluster = 2x1",
                   schedule.getTile()[0]);
  return "";
}

/// With swapped operands a tile's moments are those of 64 rows too, whatever it
/// has.
static std::string findSwappedProblem(ScheduleAttr schedule) {
  int64_t rows = schedule.getMomentRows();
  if (!schedule.hasSwappedOperands() ||
      schedule.getReduction() != ReductionMethod::TwoPhase ||
      schedule.getTile()[0] % rows == 0)
    return "";
  return formatv("with swapped operands and reduction = two_phase M of the "
                 "tile must be a multiple of {0}, the rows that have moments "
                 "together, not {1}; use another M",
                 rows, schedule.getTile()[0]);
}

/// With reduction = resident all tiles of a column are at work in the same turn
/// and wait for each other before they finish.
static std::string findResidentProblem(ScheduleAttr schedule) {
  if (schedule.getReduction() != ReductionMethod::Resident)
    return "";
  if (schedule.getPingPong() || schedule.getStreamK())
    return formatv("with reduction = resident all tiles of a column wait for "
                   "each other, so {0} cannot be; leave it out",
                   schedule.getPingPong() ? "ping_pong" : "stream_k");
  if (schedule.getMethod() != ProductMethod::Direct)
    return formatv("with reduction = resident there is no method {0}; leave it "
                   "out, or write reduction = two_phase",
                   stringifyProductMethod(schedule.getMethod()));
  if (schedule.getTile()[1] % 32 != 0)
    return formatv("with reduction = resident N of the tile must be a multiple "
                   "of 32, not {0}",
                   schedule.getTile()[1]);
  return "";
}

/// With reduction = resident_rows all tiles of a row are at work in the same
/// turn and wait for each other before they finish.
static std::string findResidentRowsProblem(ScheduleAttr schedule) {
  if (schedule.getReduction() != ReductionMethod::ResidentRows)
    return "";
  if (schedule.getStreamK())
    return "with reduction = resident_rows all tiles of a row wait for each "
           "other, so stream_k cannot be; leave it out";
  return "";
}

/// With defer a tile's accumulators have registers for a part of another tile
/// beside them.
static std::string findDeferProblem(ScheduleAttr schedule) {
  if (!schedule.getDefer())
    return "";
  if (!schedule.hasSwappedOperands())
    return formatv("defer needs operands swapped; write warps = 1x{0}, or "
                   "leave out defer",
                   schedule.getNumWarps());
  if (schedule.getPingPong() || schedule.getStreamK())
    return formatv("with defer the next tile's products hide what {0} does "
                   "too; leave out one of them",
                   schedule.getPingPong() ? "ping_pong" : "stream_k");
  if (hasSums(schedule))
    return formatv("with method = {0} sums have the registers that defer "
                   "needs; leave out defer",
                   stringifyProductMethod(schedule.getMethod()));
  if (getAccumulators(schedule) > kMaxDeferredAccumulators)
    return formatv("with defer a thread has {0} accumulators at most, not the "
                   "{1} of a tile of {2}x{3}; use a smaller tile",
                   kMaxDeferredAccumulators, getAccumulators(schedule),
                   schedule.getTile()[0], schedule.getTile()[1]);
  return "";
}

std::string tenon::findWgmmaProblem(ScheduleAttr schedule, Type elementType) {
  if (schedule.getSwizzle() != 128)
    return formatv("wgmma needs swizzle = 128, not {0}", schedule.getSwizzle());
  if (!schedule.getMethodTraits().usesTensorCores)
    return "wgmma has no method fma, which does without tensor cores; write "
           "mma_sync, or method = fp16x3";
  std::string problem = findShapeProblem(schedule, elementType);
  if (!problem.empty())
    return problem;
  if (schedule.getStages() < 2)
    return formatv("wgmma needs at least 2 stages, not {0}",
                   schedule.getStages());
  if (schedule.getBlocks() != 1)
    return formatv("a multiprocessor has one block of a wgmma kernel; write "
                   "blocks = 1, not {0}",
                   schedule.getBlocks());
  problem = findWarpProblem(schedule);
  if (problem.empty())
    problem = findTileProblem(schedule);
  if (problem.empty())
    problem = findSwappedProblem(schedule);
  if (problem.empty())
    problem = findResidentProblem(schedule);
  if (problem.empty())
    problem = findResidentRowsProblem(schedule);
  if (problem.empty())
    problem = findDeferProblem(schedule);
  return problem.empty() ? findClusterProblem(schedule) : problem;
}

std::string tenon::findWgmmaProblem(ScheduleAttr schedule,
                                    const TargetSpec &target) {
  if (!target.hasWgmma)
    return formatv("{0} has no wgmma; take a mma_sync schedule, or compile for "
                   "sm_90a alone",
                   target.name);
  return findSharedProblem(schedule, target);
}
