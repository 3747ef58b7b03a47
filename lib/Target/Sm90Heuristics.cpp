//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Predicts times of kernels of family wgmma, and chooses their schedules.
//
//===----------------------------------------------------------------------===//

#include "Heuristics.h"

using namespace mlir;
using namespace mlir::tenon;

//===----------------------------------------------------------------------===//
// The time of a kernel
//===----------------------------------------------------------------------===//

// Constants that no comment gives a measurement for are estimates.

/// Bytes a second from L2 to all multiprocessors.
static constexpr double kL2Rate = 11e12;
/// Seconds of a multiprocessor for an element of an epilogue, by two
/// warpgroups; one takes longer.
static constexpr double kLightSeconds = 4.5e-11, kHeavySeconds = 1.5e-10;
static constexpr double kOneWarpgroupFactor = 1.5;
/// What a kernel takes besides products, memory and epilogues, what each round
/// of tiles takes, and what it takes to wait for another block's partial tile:
/// fitted to the small layers of benchmarks/results/sm90a_sweep.json.
static constexpr double kTurnSeconds = 0.5e-6, kRoundSeconds = 0.3e-6,
                        kWaitSeconds = 1.5e-6;
/// How much longer products take whose rows do not begin where lines of memory
/// do, in the same report.
static constexpr double kUnalignedFactor = 1.18;

/// How much longer split products take where no other warpgroup multiplies
/// while one adds up its sums: on an H200 tiles of 64 rows and 80 to 104
/// columns took 1.5 to 1.7 times what follows from larger ones.
static constexpr double kPromotionFactor = 1.55;

static double ceilDiv(int64_t value, int64_t divisor) {
  return static_cast<double>(llvm::divideCeil(value, divisor));
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
  auto n = static_cast<double>(schedule.getTile()[1]);
  double read = 32 * (64 + n) / (64 * n), written = 32 * (m + n) / (m * n);
  if (problem.method != ProductMethod::FP16x3)
    return 1 / (0.55 + 0.45 * (read + written));
  double efficiency =
      std::min(0.94, 0.95 / (0.55 + 0.45 * (read + written * 2 / 3)));
  return schedule.getNumThreads() == kWarpgroupThreads
             ? efficiency / kPromotionFactor
             : efficiency;
}

/// What a turn's wait for the states of the column's other tiles takes: a
/// prototype on an H200 took 10 us longer than without for 1024x8192x8192, in 2
/// turns, and 80 to 100 us for 16384x4096x4096, in 16.
static constexpr double kExchangeSeconds = 5e-6;

/// Columns of clusters that are at work at once where a column's wait for each
/// other.
static int64_t getColumnsOfTurn(const LayerProblem &problem,
                                ScheduleAttr schedule,
                                const TargetSpec &target) {
  int64_t rows = llvm::divideCeil(problem.m, schedule.getTile()[0] *
                                                 schedule.getClusterM());
  return target.multiprocessors / schedule.getClusterBlocks() / rows;
}

bool tenon::fitsTurn(const LayerProblem &problem, ScheduleAttr schedule,
                     const TargetSpec &target) {
  return getColumnsOfTurn(problem, schedule, target) != 0;
}

/// Clusters of tiles, in rounds of all multiprocessors.
static double getWaves(const LayerProblem &problem, ScheduleAttr schedule,
                       const TargetSpec &target) {
  ArrayRef<int64_t> tile = schedule.getTile();
  int64_t blocks = schedule.getClusterBlocks();
  if (problem.reduction == ReductionMethod::Resident) {
    // A schedule that is written may not fit; then the launch says so.
    int64_t columns = getColumnsOfTurn(problem, schedule, target);
    return ceilDiv(
        llvm::divideCeil(problem.n, tile[1] * schedule.getClusterN()),
        std::max<int64_t>(columns, 1));
  }
  double clusters = ceilDiv(problem.m, tile[0] * schedule.getClusterM()) *
                    ceilDiv(problem.n, tile[1] * schedule.getClusterN());
  return clusters / static_cast<double>(target.multiprocessors / blocks);
}

/// Seconds of the products of one tile, or of the copies from L2 beside them.
static double predictTile(const LayerProblem &problem, ScheduleAttr schedule,
                          const TargetSpec &target) {
  auto m = static_cast<double>(schedule.getTile()[0]);
  auto n = static_cast<double>(schedule.getTile()[1]);
  bool isTf32 = problem.tiledType.isF32();
  int64_t columns = problem.getTiledColumns();
  double k = ceilDiv(columns, schedule.getTile()[2]) * schedule.getTile()[2];
  double rate = isTf32 ? target.wgmmaRate.tf32 : target.wgmmaRate.bits16;
  double products = problem.getOperations() * m * n * k *
                    target.multiprocessors /
                    (rate * getEfficiency(problem, schedule));
  // A block copies its share of what the cluster's blocks have in common.
  double bytes = (m / schedule.getClusterN() + n / schedule.getClusterM()) * k *
                 (isTf32 ? 4 : 2);
  double copies = bytes * target.multiprocessors / kL2Rate;
  if (columns * (isTf32 ? 4 : 2) % 128 != 0)
    products *= kUnalignedFactor;
  return std::max(products, copies) + std::min(products, copies) / 24;
}

static double predictEpilogue(const LayerProblem &problem,
                              ScheduleAttr schedule) {
  double seconds =
      problem.epilogue == EpilogueClass::Heavy ? kHeavySeconds : kLightSeconds;
  if (schedule.getNumThreads() == kWarpgroupThreads)
    seconds *= kOneWarpgroupFactor;
  ArrayRef<int64_t> tile = schedule.getTile();
  return seconds * static_cast<double>(tile[0] * tile[1]);
}

/// Seconds of all products, and of the epilogues that nothing hides, but for
/// the last one. With stream-K the last wave takes its share.
static double predictWaves(const LayerProblem &problem, ScheduleAttr schedule,
                           const TargetSpec &target) {
  double products = predictTile(problem, schedule, target);
  double epilogue = predictEpilogue(problem, schedule);
  double waves = getWaves(problem, schedule, target);
  double rounds = std::ceil(waves);
  if (schedule.getPingPong())
    epilogue = std::max(0.0, epilogue - products);
  double exposed = (rounds - 1) * (epilogue + kRoundSeconds);
  if (problem.reduction == ReductionMethod::Resident)
    exposed += rounds * kExchangeSeconds;
  if (!schedule.getStreamK() || rounds == waves)
    return rounds * products + exposed;
  // A block has a step of K at least.
  double steps = ceilDiv(problem.getTiledColumns(), schedule.getTile()[2]);
  double rest = std::max(waves - std::floor(waves), 1 / steps);
  return (std::floor(waves) + rest) * products + exposed;
}

/// Seconds for partial tiles to pass through L2: the block that has a tile's
/// end reads those of all others, one after the other. Waves before the last
/// are divided with it, so then tiles have two parts.
static double predictExchange(const LayerProblem &problem,
                              ScheduleAttr schedule, const TargetSpec &target) {
  double waves = getWaves(problem, schedule, target);
  if (!schedule.getStreamK() || std::ceil(waves) == waves)
    return 0;
  double parts = waves > 1 ? 2 : std::ceil(1 / waves);
  parts = std::min(parts,
                   ceilDiv(problem.getTiledColumns(), schedule.getTile()[2]));
  ArrayRef<int64_t> tile = schedule.getTile();
  double bytes = 4 * static_cast<double>(tile[0] * tile[1]);
  return parts * (kWaitSeconds + bytes * target.multiprocessors / kL2Rate);
}

static double predictKernel(const LayerProblem &problem, ScheduleAttr schedule,
                            const TargetSpec &target) {
  double multiplied = predictWaves(problem, schedule, target);
  double memory = problem.getTiledBytes() / target.memoryRate;
  return kLaunchSeconds + kTurnSeconds + std::max(multiplied, memory) +
         std::min(multiplied, memory) / 12 +
         predictExchange(problem, schedule, target) +
         predictEpilogue(problem, schedule) +
         predictOthers(problem, schedule, target);
}

Prediction tenon::predictWgmma(const LayerProblem &problem,
                               ScheduleAttr schedule,
                               const TargetSpec &target) {
  return {&target, getWaves(problem, schedule, target),
          predictKernel(problem, schedule, target),
          predictLibrary(problem, target)};
}
