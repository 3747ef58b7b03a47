//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Predicts times of kernels of family wgmma.
//
//===----------------------------------------------------------------------===//

#include "WgmmaHeuristics.h"

#include "Schedule/Prediction/LibraryTime.h"
#include "WgmmaEpilogueTime.h"

#include "tenon/Dialect/Tenon/IR/NarrowFloats.h"
#include "tenon/Schedule/Wgmma/WgmmaSchedule.h"

using namespace mlir;
using namespace mlir::tenon;

//===----------------------------------------------------------------------===//
// The time of a kernel
//===----------------------------------------------------------------------===//

// Constants that no comment gives another measurement for are fitted to
// benchmarks/results/sm90a_schedules.json; benchmarks/predictions.py says how
// well.

/// Of a kernel whatever it computes, and of one with clusters.
static constexpr double kStartSeconds = 1.75e-6, kClusterSeconds = 0.7e-6;
/// A row of 128 bytes that TMA copies to a multiprocessor. One that begins
/// within a sector of 32 bytes takes more, and one that lies in two lines of L2
/// where all multiprocessors ask for such: narrow tiles without clusters took
/// 1.4 to 1.6 times as long in benchmarks/results/regret.json.
static constexpr double kRowSeconds = 0.8e-9, kTwoLinesRowSeconds = 1.8e-9,
                        kUnalignedRowSeconds = 2.3e-9;
static constexpr int64_t kSectorBytes = 32, kLineBytes = 128;
/// A stage at least.
static constexpr double kStageSeconds = 0.09e-6;
/// What copies and products, or a kernel and what it moves to and from memory,
/// take from each other.
static constexpr double kCopyShare = 0.2, kMemoryShare = 0.33;
/// Such shares of split products, which leave more time for both. Estimated.
static constexpr double kSplitCopyShare = 1.0 / 24,
                        kSplitMemoryShare = 1.0 / 12;
/// The part of L2 that keeps an operand whatever else is read, and what reads
/// of others add where memory bounds a kernel: 262144x256x256 took 71 us where
/// two tiles side by side read x once, 76 where each read it, and 86 where four
/// did (an H200, 2026-11-29).
static constexpr double kKeptL2Part = 0.5, kL2ReadRate = 27e12;
/// Rows of x at least for that: of fewer all tiles often run at once, and it
/// was not measured.
static constexpr int64_t kLeastRereadRows = 1024;
/// How much longer products take without a second warpgroup.
static constexpr double kAloneFactor = 1.07;
/// How much longer large products of 16 bits take where operands are not
/// swapped: more power, so a lower clock. Fitted to sm90a_swapped_large.json.
static constexpr double kSwappedGain = 1.033;
/// The gain of split products, a mean of 1.00 to 1.06 (an H200, 2026-11-24).
static constexpr double kSwappedSplitGain = 1.04;
/// What products of 8 bits reach of wgmma's rate where shared memory moves as
/// much as it can: tiles of 128x192, 176, 160 and 128 take 1, 1.04, 1.06 and
/// 1.12 of the time for each column, swapped or not (an H200, 2026-11-29, three
/// layers of fp8.json).
static constexpr double kByteEfficiency = 0.763;
/// What split products lose of the time in which tiles of resident rows are
/// finished: power limits them, so where they pause the clock is higher. A
/// layer norm of 16384x4096x1024 took 690 us in 22 rounds, and 765 by a kernel
/// behind the product (an H200, 2026-11-29).
static constexpr double kSplitPauseShare = 0.5;
/// From one of a block's tiles to the next.
static constexpr double kRoundSeconds = 0.5e-6;
/// The same of two products that are held, rounded to 16 bits.
static constexpr double kDeferredRoundSeconds = 0.3e-6;

static constexpr ExchangeTimes kExchange{2.2e-6, 0.2e-6, 4e12};

// Constants of few rows are fitted to sm90a_few_rows_auto.json and
// sm90a_swapped.json, and to what sm90a_schedules.json has of at most kFewRows
// rows.

/// Rows of x at most, beside which w is nearly all that is read.
static constexpr int64_t kFewRows = 128;
static constexpr ExchangeTimes kFewRowsExchange{0.9e-6, 0.4e-6, 1e13};
/// What a kernel and memory take from each other, and how much faster L2 is
/// read than memory.
static constexpr double kFewRowsMemoryShare = 0.15, kFewRowsL2Factor = 1.7;
/// A row of a tile beyond M, for which TMA writes zeros, where all
/// multiprocessors ask for one; fewer do not wait as long.
static constexpr double kMissingRowSeconds = 4e-9;

bool tenon::isFewRows(const LayerProblem &problem) {
  return problem.m <= kFewRows && !problem.hasDynamicRows &&
         problem.method == ProductMethod::Direct;
}

/// How much longer split products take where no other warpgroup multiplies
/// while one adds up its sums: 1.5 to 1.7 in tiles of 64 rows and 80 to 104
/// columns (an H200, 2026-11-22).
static constexpr double kPromotionFactor = 1.55;

static double ceilDiv(int64_t value, int64_t divisor) {
  return static_cast<double>(llvm::divideCeil(value, divisor));
}

static bool isPromoted(const LayerProblem &problem) {
  return getTraits(problem.method).hasPartialSums;
}

/// Whether what is known of power holds: nothing else was measured, and of two
/// products 8192x11008x4096 took 1.89 ms with tiles of 128x96 and
/// ping-pong, 1.98 with 192x64 so and operands swapped (an H200, 2026-11-28).
static bool isSwappedLarge(const LayerProblem &problem, ScheduleAttr schedule) {
  return schedule.hasSwappedOperands() && !isFewRows(problem) &&
         problem.weights == 1 && !problem.tiledType.isF32();
}

/// The part of wgmma's rate that a schedule reaches. Shared memory gives 128
/// bytes a clock, of which wgmma wants all for products of 64x256 from tiles of
/// 128x256, where copies write too, and more for others.
/// Split products read more often what is written once, but the GPU's power
/// limits them: the factor and the limit fit 0.530 ms for M x N x K =
/// 1024x8192x8192 with 128x168 and 2.307 ms for 16384x4096x4096 with 128x192;
/// 4.767 ms for 8192x8192x8192 with 128x192 are 9 % more than predicted.
static double getEfficiency(const LayerProblem &problem,
                            ScheduleAttr schedule) {
  auto m = static_cast<double>(schedule.getTile()[0]);
  auto n = static_cast<double>(schedule.getTile()[1] * schedule.getWeights());
  bool isAlone =
      schedule.getNumThreads() == kWarpgroupThreads && !schedule.getPingPong();
  // What the 64 rows of a wgmma are multiplied by.
  double columns = schedule.hasSwappedOperands() ? m : n;
  double read = 32 * (64 + columns) / (64 * columns);
  double written = 32 * (m + n) / (m * n);
  if (!isPromoted(problem))
    return 1 / (0.73 + 0.27 * (read + written)) / (isAlone ? kAloneFactor : 1) *
           (isSwappedLarge(problem, schedule) ? kSwappedGain : 1);
  double moved = read + written * 2 / 3;
  double efficiency =
      problem.method == ProductMethod::FP8
          ? kByteEfficiency / moved
          : std::min(0.808, 0.8165 / (0.55 + 0.45 * moved)) *
                (isSwappedLarge(problem, schedule) ? kSwappedSplitGain : 1);
  return schedule.getNumThreads() == kWarpgroupThreads
             ? efficiency / kPromotionFactor
             : efficiency;
}

/// Clusters of tiles, in rounds of all multiprocessors.
static double getWaves(const LayerProblem &problem, ScheduleAttr schedule,
                       const TargetSpec &target) {
  ArrayRef<int64_t> tile = schedule.getTile();
  int64_t blocks = schedule.getClusterBlocks();
  if (problem.reduction == ReductionMethod::Resident)
    return getTurns(problem, schedule, target);
  double clusters = ceilDiv(problem.m, tile[0] * schedule.getClusterM()) *
                    ceilDiv(problem.n, tile[1] * schedule.getClusterN());
  if (problem.reduction == ReductionMethod::ResidentRows) {
    int64_t ofRow = llvm::divideCeil(problem.reducedColumns,
                                     tile[1] * schedule.getClusterN());
    return clusters /
           static_cast<double>(ofRow * getTeams(problem, schedule, target));
  }
  return clusters / static_cast<double>(target.multiprocessors / blocks);
}

/// Seconds to copy what a tile has of rows beyond M, a row of 128 bytes each:
/// those of all row tiles on average.
static double predictMissingRows(const LayerProblem &problem,
                                 ScheduleAttr schedule,
                                 const TargetSpec &target) {
  if (!isFewRows(problem))
    return 0;
  double clusters =
      ceilDiv(problem.m, schedule.getTile()[0] * schedule.getClusterM());
  double tiles = clusters * static_cast<double>(schedule.getClusterM());
  double missing = static_cast<double>(schedule.getTile()[0]) -
                   static_cast<double>(problem.m) / tiles;
  double atWork = std::min(getWaves(problem, schedule, target), 1.0);
  return missing * atWork * kMissingRowSeconds;
}

/// Seconds that a multiprocessor waits for a row of 128 bytes.
static double getRowSeconds(const LayerProblem &problem, ScheduleAttr schedule,
                            const TargetSpec &target) {
  int64_t bytes =
      problem.getTiledColumns() * problem.tiledType.getIntOrFloatBitWidth() / 8;
  if (bytes % kLineBytes == 0)
    return kRowSeconds;
  if (bytes % kSectorBytes != 0)
    return kUnalignedRowSeconds;
  double atWork = std::min(getWaves(problem, schedule, target), 1.0);
  return std::max(kRowSeconds, atWork * kTwoLinesRowSeconds);
}

static double getProductRate(const LayerProblem &problem,
                             const TargetSpec &target) {
  return problem.tiledType.isF32()          ? target.wgmmaRate.tf32
         : isNarrowFloat(problem.tiledType) ? target.wgmmaRate.bits8
                                            : target.wgmmaRate.bits16;
}

/// Seconds of the products of one tile, or of the copies beside them.
static double predictTile(const LayerProblem &problem, ScheduleAttr schedule,
                          const TargetSpec &target) {
  ArrayRef<int64_t> tile = schedule.getTile();
  double rate = getProductRate(problem, target);
  double products =
      problem.getOperations() *
      static_cast<double>(tile[0] * tile[1] * tile[2] * schedule.getWeights()) *
      target.multiprocessors / (rate * getEfficiency(problem, schedule));
  // A block copies its share of what the cluster's blocks have in common.
  auto rows = static_cast<double>(tile[0] / schedule.getClusterN() +
                                  schedule.getWeights() * tile[1] /
                                      schedule.getClusterM());
  double copies = rows * getRowSeconds(problem, schedule, target) +
                  predictMissingRows(problem, schedule, target);
  double share = isPromoted(problem) ? kSplitCopyShare : kCopyShare;
  double stage = std::max({products, copies, kStageSeconds}) +
                 share * std::min(products, copies);
  return ceilDiv(problem.getTiledColumns(), tile[2]) * stage;
}

/// Whether stream-K divides the last waves (Tiled/WorkPartition).
static bool isStreamed(const LayerProblem &problem, ScheduleAttr schedule,
                       const TargetSpec &target) {
  double waves = getWaves(problem, schedule, target);
  double rounds = std::ceil(waves);
  return schedule.getStreamK() &&
         (rounds - waves) * kStreamKEmptyShare > rounds;
}

/// Seconds in which a round reads w from memory, where all columns of rows are
/// at work at once and L2 does not keep them until the next: 2048x32000x2048
/// took three times as long as the library.
static double predictRereads(const LayerProblem &problem,
                             const TargetSpec &target) {
  if (problem.reduction != ReductionMethod::ResidentRows ||
      problem.reducedColumns != problem.n)
    return 0;
  double elementBytes = problem.tiledType.getIntOrFloatBitWidth() / 8;
  double bytes =
      static_cast<double>(problem.n * problem.getTiledColumns()) * elementBytes;
  return 2 * bytes <= static_cast<double>(target.l2Bytes)
             ? 0
             : bytes / target.memoryRate;
}

/// Seconds of all products, and of the epilogues that nothing hides, but for
/// the last one. With stream-K the last wave takes its share.
static double predictWaves(const LayerProblem &problem, ScheduleAttr schedule,
                           const TargetSpec &target) {
  double products = std::max(predictTile(problem, schedule, target),
                             predictRereads(problem, target));
  double epilogue = predictWgmmaEpilogue(problem, schedule);
  double waves = getWaves(problem, schedule, target);
  double rounds = std::ceil(waves);
  double between = epilogue + kRoundSeconds;
  if (schedule.getDefer() && schedule.getWeights() != 1)
    between = kDeferredRoundSeconds;
  if (schedule.getPingPong())
    between = std::max(0.0, between - products);
  // Where epilogues take longer than products, those of two tiles are at work
  // at once. Of others it was not measured.
  if (schedule.getPingPong() && sumsInRegisters(problem, schedule))
    between /= 2;
  double exposed = (rounds - 1) * between;
  if (problem.reduction == ReductionMethod::Resident)
    exposed = schedule.getDefer()
                  ? (rounds - 1) * kHoldSeconds + kLastHoldSeconds
                  : exposed + rounds * kExchangeSeconds;
  if (problem.reduction == ReductionMethod::ResidentRows)
    exposed += (schedule.getPingPong() ? 1 : rounds) * kExchangeSeconds;
  if (problem.reduction == ReductionMethod::ResidentRows &&
      problem.method == ProductMethod::FP16x3)
    exposed *= kSplitPauseShare;
  if (!isStreamed(problem, schedule, target))
    return rounds * products + exposed;
  // A block has a step of K at least.
  double steps = ceilDiv(problem.getTiledColumns(), schedule.getTile()[2]);
  double rest = std::max(waves - std::floor(waves), 1 / steps);
  return (std::floor(waves) + rest) * products + exposed;
}

/// Waves before the last are divided with it, so then tiles have two parts.
static double predictExchange(const LayerProblem &problem,
                              ScheduleAttr schedule, const TargetSpec &target) {
  if (!isStreamed(problem, schedule, target))
    return 0;
  double waves = getWaves(problem, schedule, target);
  double parts = waves > 1 ? 2 : std::ceil(1 / waves);
  parts = std::min(parts,
                   ceilDiv(problem.getTiledColumns(), schedule.getTile()[2]));
  const ExchangeTimes &times =
      isFewRows(problem) ? kFewRowsExchange : kExchange;
  return times.predict(schedule, parts, target);
}

static double getMemoryShare(const LayerProblem &problem) {
  if (isFewRows(problem))
    return kFewRowsMemoryShare;
  return isPromoted(problem) ? kSplitMemoryShare : kMemoryShare;
}

/// Bytes that clusters read of an operand after the first of them: those of all
/// tiles along N read x, and those along M w. None of what L2 keeps anyway.
static double getRereads(double bytes, int64_t extent, int64_t ofCluster,
                         const TargetSpec &target) {
  bool isKept = bytes <= kKeptL2Part * static_cast<double>(target.l2Bytes);
  return isKept ? 0 : bytes * (ceilDiv(extent, ofCluster) - 1);
}

/// Seconds of reads of x and w from L2 that nothing hides: the more, the longer
/// memory takes beside products at wgmma's rate, whatever the schedule makes of
/// that.
static double predictL2(const LayerProblem &problem, ScheduleAttr schedule,
                        double memory, const TargetSpec &target) {
  if (problem.m < kLeastRereadRows || isPromoted(problem))
    return 0;
  auto row = static_cast<double>(problem.getTiledColumns() *
                                 problem.tiledType.getIntOrFloatBitWidth() / 8);
  double ofX = row * static_cast<double>(problem.m);
  double ofW = row * static_cast<double>(problem.weights * problem.n);
  double bytes =
      getRereads(ofX, problem.n, schedule.getTile()[1] * schedule.getClusterN(),
                 target) +
      getRereads(ofW, problem.m, schedule.getTile()[0] * schedule.getClusterM(),
                 target);
  double products = problem.getOperations() * static_cast<double>(problem.m) *
                    static_cast<double>(problem.weights * problem.n) *
                    static_cast<double>(problem.getTiledColumns()) /
                    getProductRate(problem, target);
  double share = std::min(1.0, memory / products);
  return bytes / kL2ReadRate * share * share * share;
}

static double predictKernel(const LayerProblem &problem, ScheduleAttr schedule,
                            const TargetSpec &target) {
  double multiplied = predictWaves(problem, schedule, target);
  double bytes = problem.getTiledBytes();
  double memory = isFewRows(problem)
                      ? predictReads(bytes, target, kFewRowsL2Factor)
                      : predictMemory(bytes, target);
  bool hasCluster = schedule.getClusterBlocks() != 1;
  return kStartSeconds + (hasCluster ? kClusterSeconds : 0) +
         std::max(multiplied, memory) +
         getMemoryShare(problem) * std::min(multiplied, memory) +
         predictL2(problem, schedule, memory, target) +
         predictExchange(problem, schedule, target) +
         predictWgmmaEpilogue(problem, schedule) +
         predictOthers(problem, schedule, target);
}

Prediction tenon::predictWgmma(const LayerProblem &problem,
                               ScheduleAttr schedule,
                               const TargetSpec &target) {
  return {&target, getWaves(problem, schedule, target),
          predictKernel(problem, schedule, target),
          predictLibrary(problem, target)};
}
