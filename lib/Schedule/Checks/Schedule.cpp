//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a schedule asks of a target.
//
//===----------------------------------------------------------------------===//

#include "FamilyChecks.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::tenon;
using llvm::formatv;

static bool isWgmma(ScheduleAttr schedule) {
  return schedule.getFamily() == KernelFamily::Wgmma;
}

static bool isResident(ScheduleAttr schedule) {
  return schedule.getReduction() == ReductionMethod::Resident;
}

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

std::string tenon::describe(ScheduleAttr schedule) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (schedule.getMethod() != ProductMethod::Direct)
    os << stringifyKernelFamily(schedule.getFamily()) << " "
       << stringifyProductMethod(schedule.getMethod()) << ", ";
  else if (isWgmma(schedule))
    os << "wgmma, ";
  os << "tiles of ";
  llvm::interleave(schedule.getTile(), os, "x");
  if (isWgmma(schedule))
    os << " by " << schedule.getNumWarps() << " warps";
  if (schedule.hasSwappedOperands())
    os << ", operands swapped";
  if (schedule.getPingPong())
    os << ", ping-pong";
  if (schedule.getDefer())
    os << ", deferred";
  if (schedule.getClusterBlocks() != 1)
    os << ", clusters of " << schedule.getClusterM() << "x"
       << schedule.getClusterN();
  os << ", " << schedule.getStages() << " stages, " << getSharedBytes(schedule)
     << " bytes of shared memory";
  if (schedule.getStreamK())
    os << ", stream-K";
  return text;
}

//===----------------------------------------------------------------------===//
// Threads, blocks and bytes
//===----------------------------------------------------------------------===//

int64_t tenon::getConsumerWarpgroups(ScheduleAttr schedule) {
  int64_t ofTile = schedule.getNumThreads() / kWarpgroupThreads;
  return schedule.getPingPong() ? 2 * ofTile : ofTile;
}

int64_t tenon::getBlockThreads(ScheduleAttr schedule) {
  if (!isWgmma(schedule))
    return schedule.getNumThreads();
  return kWarpgroupThreads * (1 + getConsumerWarpgroups(schedule));
}

int64_t tenon::getMaxBlocks(ScheduleAttr schedule) {
  int64_t cluster = schedule.getClusterBlocks();
  return kMaxMultiprocessors * schedule.getBlocks() / cluster * cluster;
}

int64_t tenon::getStageBytes(ScheduleAttr schedule) {
  ArrayRef<int64_t> tile = schedule.getTile();
  return (tile[0] + tile[1]) * schedule.getSwizzle();
}

int64_t tenon::getBarrierBytes(ScheduleAttr schedule) {
  if (!isResident(schedule))
    return kBarrierBytes;
  // Two of 8 bytes for each stage, those of each warpgroup's subtiles, and with
  // defer one for the table behind them, which begins at a multiple of 16.
  return 16 * schedule.getStages() +
         8 * kSubtileBarriers * getConsumerWarpgroups(schedule) +
         (schedule.getDefer() ? 16 : 0);
}

/// Bytes of shared memory that a block uses beside stages and epilogue.
static int64_t getUsualBytes(ScheduleAttr schedule) {
  int64_t bytes = getBlockThreads(schedule) / 32 * kScalarBytesPerWarp;
  if (isWgmma(schedule))
    bytes += getBarrierBytes(schedule);
  if (isResident(schedule))
    bytes += schedule.getTile()[1] * kFinishedBytesPerColumn;
  return bytes;
}

int64_t tenon::getWarpgroupEpilogueBytes(ScheduleAttr schedule) {
  int64_t warpgroups = getConsumerWarpgroups(schedule);
  int64_t left = lookupTarget("sm_90a")->sharedBytesPerBlock -
                 getUsualBytes(schedule) - warpgroups * kWarpgroupEpilogueBytes;
  bool fits = schedule.getStages() <= left / getStageBytes(schedule);
  return schedule.getPingPong() && !fits ? kPingPongEpilogueBytes
                                         : kWarpgroupEpilogueBytes;
}

static int64_t getEpilogueBytes(ScheduleAttr schedule) {
  if (!isWgmma(schedule))
    return schedule.getNumWarps() * kStagingBytesPerWarp;
  return getConsumerWarpgroups(schedule) * getWarpgroupEpilogueBytes(schedule);
}

int64_t tenon::getSharedBytes(ScheduleAttr schedule) {
  return schedule.getStages() * getStageBytes(schedule) +
         getUsualBytes(schedule) + getEpilogueBytes(schedule);
}

/// Columns of a tile for whose states there is room: those of mma_sync's
/// kernels for pointers that are not aligned have kNarrowTileColumns.
static int64_t getExchangedColumns(ScheduleAttr schedule) {
  int64_t columns = schedule.getTile()[1];
  return isWgmma(schedule) ? columns : std::max(columns, kNarrowTileColumns);
}

int64_t tenon::getWorkspaceBytes(ScheduleAttr schedule) {
  ArrayRef<int64_t> tile = schedule.getTile();
  int64_t ofBlock = 0;
  if (schedule.getStreamK())
    ofBlock = tile[0] * tile[1] * 4;
  else if (isResident(schedule))
    ofBlock = (schedule.getDefer() ? 4 : 2) * getExchangedColumns(schedule) *
              kTaggedStateBytes;
  return ofBlock ? getMaxBlocks(schedule) * (8 + ofBlock) : 0;
}

//===----------------------------------------------------------------------===//
// What all families ask
//===----------------------------------------------------------------------===//

/// More than any GPU has multiprocessors to walk through a group with.
static constexpr int64_t kMaxRaster = 256;
/// More than fit any shared memory; a kernel's code grows with them.
static constexpr int64_t kMaxStages = 32;

std::string tenon::findShapeProblem(ScheduleAttr schedule, Type elementType) {
  if (!elementType.isF16() && !elementType.isBF16() && !elementType.isF32())
    return formatv("{0} multiplies f16, bf16 and f32 (as tf32), not {1}",
                   stringifyKernelFamily(schedule.getFamily()), elementType);
  ProductMethod method = schedule.getMethod();
  bool isSplit = schedule.isSplit(), isFma = method == ProductMethod::FMA;
  if ((isSplit && !elementType.isF16()) || (isFma && !elementType.isF32()))
    return formatv(
        "method {0} multiplies {1}, not {2}", stringifyProductMethod(method),
        isSplit ? "the f16 halves of tenon.split" : "f32", elementType);
  int64_t bytes = elementType.getIntOrFloatBitWidth() / 8;
  int64_t extent = schedule.getSwizzle() / bytes;
  if (schedule.getTile()[2] != extent)
    return formatv(
        "K of the tile must be the {0} elements of {1} that swizzle, "
        "{2} bytes, holds, not {3}",
        extent, elementType, schedule.getSwizzle(), schedule.getTile()[2]);
  if (schedule.getStages() > kMaxStages)
    return formatv("a block has at most {0} stages, not {1}", kMaxStages,
                   schedule.getStages());
  if (schedule.getRaster() > kMaxRaster)
    return formatv("raster must be at most {0} row tiles, not {1}", kMaxRaster,
                   schedule.getRaster());
  return "";
}

std::string tenon::findSharedProblem(ScheduleAttr schedule,
                                     const TargetSpec &target) {
  int64_t stageBytes = getStageBytes(schedule);
  int64_t left = target.sharedBytesPerBlock - getUsualBytes(schedule) -
                 getEpilogueBytes(schedule);
  if (schedule.getStages() > left / stageBytes)
    return formatv("{0} stages of {1} bytes do not fit the {2} bytes of shared "
                   "memory that {3} leaves them; use fewer stages or a smaller "
                   "tile",
                   schedule.getStages(), stageBytes, left, target.name);
  return "";
}

//===----------------------------------------------------------------------===//
// What can run
//===----------------------------------------------------------------------===//

std::string tenon::findProblem(ScheduleAttr schedule, Type elementType) {
  return isWgmma(schedule) ? findWgmmaProblem(schedule, elementType)
                           : findMmaSyncProblem(schedule, elementType);
}

std::string tenon::findProblem(ScheduleAttr schedule, Type elementType,
                               const TargetSpec &target) {
  std::string problem = findProblem(schedule, elementType);
  if (!problem.empty())
    return problem;
  return isWgmma(schedule) ? findWgmmaProblem(schedule, target)
                           : findMmaSyncProblem(schedule, target);
}

std::string tenon::findExtentProblem(KernelFamily family, Type elementType,
                                     int64_t k) {
  if (family != KernelFamily::Wgmma)
    return "";
  int64_t bytes = elementType.getIntOrFloatBitWidth() / 8;
  if (k * bytes % 16 == 0)
    return "";
  return formatv("TMA copies rows of multiples of 16 bytes, but K = {0} of {1} "
                 "has {2}; pad K to {3}",
                 k, elementType, k * bytes, llvm::alignTo(k, 16 / bytes));
}
