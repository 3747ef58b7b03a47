//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Predicts times of kernels of family mma_sync.
//
//===----------------------------------------------------------------------===//

#include "MmaSyncHeuristics.h"

#include "Schedule/Prediction/LibraryTime.h"

#include "tenon/Dialect/Tenon/IR/NarrowFloats.h"

using namespace mlir;
using namespace mlir::tenon;

//===----------------------------------------------------------------------===//
// The time of a tiled kernel
//===----------------------------------------------------------------------===//

/// What sums outside of tensor cores take: 0.968 ms for M x N x K =
/// 1024x8192x8192 by fp16x3 with 128x128 on an H200, with the kernels beside
/// it.
static constexpr double kPromotionFactor = 1.18;

/// Products for each element that is loaded, for a tile of a block or a warp.
static double getIntensity(double m, double n) { return m * n / (m + n); }

/// Seconds of the whole GPU for one column of x and w and one result. To the
/// time of the products come the column's shares of copies to shared memory,
/// fewer in larger tiles, and of loads from there, fewer in larger parts of a
/// warp. The constants are fitted to bf16 on an H200: 0.79 of mma.sync's rate
/// for 128x256 by 2x4 warps and 0.63 for 128x128 by 2x4, means of M x N x K =
/// 1024x8192x8192, 16384x4096x4096 and 8192x8192x8192, and 0.63 for 64x256 by
/// 1x4 at 128x16384x16384. tf32 is within 6 % of the first. For fused
/// multiply-adds, which take so long that copies do not show, they are
/// estimates.
static double getColumnSeconds(const LayerProblem &problem,
                               ScheduleAttr schedule,
                               const TargetSpec &target) {
  ArrayRef<int64_t> tile = schedule.getTile(), warps = schedule.getWarps();
  auto columns = static_cast<double>(tile[1] * schedule.getWeights());
  double block = getIntensity(tile[0], columns);
  double warp =
      getIntensity(static_cast<double>(tile[0]) / warps[0], columns / warps[1]);
  double operations = problem.getOperations();
  if (!getTraits(problem.method).usesTensorCores)
    return operations * (1.2 + 5 / warp) / target.fmaRate;
  double rate = problem.tiledType.isF32()          ? target.mmaSyncRate.tf32
                : isNarrowFloat(problem.tiledType) ? target.mmaSyncRate.bits8
                                                   : target.mmaSyncRate.bits16;
  double seconds = (operations * 0.48 + 2 * (41 / block + 10 / warp)) / rate;
  if (getTraits(problem.method).hasPartialSums)
    seconds *= kPromotionFactor;
  // Half the row: twice as many barriers, of which one costs about 5 %.
  return schedule.getSwizzle() == 128 ? seconds : seconds / 0.95;
}

static double getTiles(const LayerProblem &problem, ScheduleAttr schedule) {
  return static_cast<double>(
             llvm::divideCeil(problem.m, schedule.getTile()[0])) *
         llvm::divideCeil(problem.n, schedule.getTile()[1]);
}

/// Tiles of one full wave.
static double getResident(ScheduleAttr schedule, const TargetSpec &target) {
  return static_cast<double>(target.multiprocessors * schedule.getBlocks());
}

/// Tiles, in rounds of all that are resident.
static double getWaves(const LayerProblem &problem, ScheduleAttr schedule,
                       const TargetSpec &target) {
  if (problem.reduction == ReductionMethod::Resident)
    return getTurns(problem, schedule, target);
  double tiles = getTiles(problem, schedule);
  if (problem.reduction == ReductionMethod::ResidentRows) {
    auto teams = static_cast<double>(getTeams(problem, schedule, target));
    return tiles / (teams * llvm::divideCeil(problem.reducedColumns,
                                             schedule.getTile()[1]));
  }
  return tiles / getResident(schedule, target);
}

//===----------------------------------------------------------------------===//
// Few rows
//===----------------------------------------------------------------------===//

/// Rows of x up to which mma_sync is weighed on Hopper, against the library's
/// wgmma: w is all that is read, and a tile of 16 rows copies no others. With
/// more rows no tile is faster (sm90a_few_rows.json), nor are rows that are no
/// multiples of 16 bytes, which are copied in parts.
static constexpr int64_t kMmaSyncRows = 16;

bool tenon::isForMmaSync(const LayerProblem &problem) {
  return problem.m <= kMmaSyncRows && !problem.hasNorm &&
         problem.method == ProductMethod::Direct &&
         problem.tiledType.getIntOrFloatBitWidth() == 16 && problem.k % 8 == 0;
}

// The constants of few rows are fitted to all schedules that were measured on
// an H200; benchmarks/predictions.py says how well. Other GPUs may differ.

static bool isHopper(const TargetSpec &target) {
  return target.libraryRate.bits16 > target.mmaSyncRate.bits16;
}

/// What a kernel takes whatever it computes, and each stage to fill at its
/// start.
static constexpr double kStartSeconds = 2.75e-6, kFillSeconds = 0.2e-6;
/// From a copy's issue to its use. The stages of a ring share it: few rows
/// leave so little to multiply that a block waits for this alone.
static constexpr double kCopySeconds = 1.25e-6;
/// How much faster L2 is read than memory.
static constexpr double kL2Factor = 2.9;
static constexpr ExchangeTimes kExchange{1.75e-6, 0.125e-6, 7.5e12};

/// K tiles of the block that has most: with stream-K the last wave takes its
/// share.
static double getSteps(const LayerProblem &problem, ScheduleAttr schedule,
                       const TargetSpec &target) {
  double steps =
      llvm::divideCeil(problem.getTiledColumns(), schedule.getTile()[2]);
  double waves = getWaves(problem, schedule, target);
  double full = std::floor(waves), rest = waves - full;
  if (rest == 0 || !schedule.getStreamK())
    return std::ceil(waves) * steps;
  return full * steps + std::max(rest * steps, 1.0);
}

/// Waves before the last are divided with it, so then tiles have two parts.
static double predictExchange(const LayerProblem &problem,
                              ScheduleAttr schedule, const TargetSpec &target) {
  double waves = getWaves(problem, schedule, target);
  if (!schedule.getStreamK() || waves == std::floor(waves))
    return 0;
  double steps =
      llvm::divideCeil(problem.getTiledColumns(), schedule.getTile()[2]);
  double parts = waves > 1 ? 2 : std::min(steps, 1 / waves);
  return kExchange.predict(schedule, parts, target);
}

/// Seconds of what overlaps: the longest, and something of the others where
/// they take about as long.
static double getOverlap(double products, double copies, double memory) {
  constexpr double exponent = 4.8;
  return std::pow(std::pow(products, exponent) + std::pow(copies, exponent) +
                      std::pow(memory, exponent),
                  1 / exponent);
}

static double predictFewRows(const LayerProblem &problem, ScheduleAttr schedule,
                             const TargetSpec &target) {
  ArrayRef<int64_t> tile = schedule.getTile();
  double steps = getSteps(problem, schedule, target);
  auto ahead = static_cast<double>(schedule.getStages() - 1);
  int64_t elements = tile[0] * tile[1] * schedule.getWeights();
  double products = steps * static_cast<double>(elements * tile[2]) *
                    getResident(schedule, target) *
                    getColumnSeconds(problem, schedule, target);
  double memory = predictReads(problem.getTiledBytes(), target, kL2Factor);
  return kStartSeconds + kFillSeconds * std::min(ahead, steps) +
         getOverlap(products, steps * kCopySeconds / ahead, memory) +
         predictExchange(problem, schedule, target) +
         predictOthers(problem, schedule, target);
}

//===----------------------------------------------------------------------===//
// Any number of rows
//===----------------------------------------------------------------------===//

/// Seconds of the products. Without stream-K the last wave takes as long as the
/// others; with it, it takes its share, but partial tiles are written and read,
/// mostly in L2, which is counted as one pass through memory.
static double predictProducts(const LayerProblem &problem,
                              ScheduleAttr schedule, const TargetSpec &target) {
  ArrayRef<int64_t> tile = schedule.getTile();
  double resident = getResident(schedule, target);
  double steps = llvm::divideCeil(problem.getTiledColumns(), tile[2]);
  auto elements =
      static_cast<double>(tile[0] * tile[1] * schedule.getWeights());
  double wave = elements * steps * tile[2] * resident *
                getColumnSeconds(problem, schedule, target);
  double waves = getWaves(problem, schedule, target);
  double full = std::floor(waves), rest = waves - full;
  if (rest == 0)
    return waves * wave;
  if (!schedule.getStreamK())
    return (full + 1) * wave;
  double partialBytes = 4 * elements * resident;
  // A block has a step of K at least.
  return (full + std::max(rest, 1 / steps)) * wave +
         partialBytes / target.memoryRate;
}

/// What a kernel takes besides products and memory: to fill the stages, to turn
/// the accumulators, to exchange partial tiles. Small layers on an H200 take 1
/// to 6 us more than products and memory do.
static constexpr double kTurnSeconds = 4e-6;

static double predictKernel(const LayerProblem &problem, ScheduleAttr schedule,
                            const TargetSpec &target) {
  if (isForMmaSync(problem) && isHopper(target))
    return predictFewRows(problem, schedule, target);
  double products = predictProducts(problem, schedule, target);
  double memory = problem.getTiledBytes() / target.memoryRate;
  // They overlap, but for the first loads and the last stores: a twelfth,
  // fitted to layers where both take about as long (sm80_few_rows.json).
  bool waits = problem.reduction == ReductionMethod::Resident ||
               problem.reduction == ReductionMethod::ResidentRows;
  double exchange =
      waits ? getWaves(problem, schedule, target) * kExchangeSeconds : 0;
  return kLaunchSeconds + kTurnSeconds + std::max(products, memory) +
         std::min(products, memory) / 12 + exchange +
         predictOthers(problem, schedule, target);
}

/// How much longer a kernel takes on Hopper where rows of x and w are no
/// multiples of 16 bytes, and are copied in parts: fitted to large layers of
/// benchmarks/results/regret.json.
static double getCopyFactor(const LayerProblem &problem,
                            const TargetSpec &target) {
  int64_t rowBytes =
      problem.getTiledColumns() * problem.tiledType.getIntOrFloatBitWidth() / 8;
  if (!isHopper(target) || rowBytes % 16 == 0)
    return 1;
  if (rowBytes % 8 == 0)
    return 1.7;
  return rowBytes % 4 == 0 ? 2.2 : 4.7;
}

Prediction tenon::predictMmaSync(const LayerProblem &problem,
                                 ScheduleAttr schedule,
                                 const TargetSpec &target) {
  return {&target, getWaves(problem, schedule, target),
          getCopyFactor(problem, target) *
              predictKernel(problem, schedule, target),
          predictLibrary(problem, target)};
}
