//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Predicts times of kernels of family mma_sync, and chooses their schedules.
//
//===----------------------------------------------------------------------===//

#include "Heuristics.h"

using namespace mlir;
using namespace mlir::tenon;

//===----------------------------------------------------------------------===//
// The time of a tiled kernel
//===----------------------------------------------------------------------===//

/// The part of mma.sync's rate that a tile reaches. A tile of M x N loads
/// 1 / M + 1 / N elements for each product; the two constants are chosen so
/// that 128x256 comes to 0.77, which was measured on an H200 for bf16 and tf32.
static double getEfficiency(ScheduleAttr schedule) {
  double m = schedule.getTile()[0], n = schedule.getTile()[1];
  double intensity = m * n / (m + n);
  double efficiency = 0.95 * intensity / (intensity + 20);
  // Half the row: twice as many barriers, of which one costs about 5 %.
  return schedule.getSwizzle() == 128 ? efficiency : 0.95 * efficiency;
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

/// Seconds of the products. Without stream-K the last wave takes as long as the
/// others; with it, it takes its share, but partial tiles are written and read,
/// mostly in L2, which is counted as one pass through memory.
static double predictProducts(const LayerProblem &problem,
                              ScheduleAttr schedule, const TargetSpec &target) {
  ArrayRef<int64_t> tile = schedule.getTile();
  double resident = getResident(schedule, target);
  double steps = llvm::divideCeil(problem.k, tile[2]);
  double elements = static_cast<double>(tile[0]) * tile[1];
  double rate = problem.tiledType.isF32() ? target.mmaSyncRate.tf32
                                          : target.mmaSyncRate.bits16;
  double wave = 2 * elements * steps * tile[2] * resident /
                (rate * getEfficiency(schedule));
  double waves = getTiles(problem, schedule) / resident;
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

static double predictKernel(const LayerProblem &problem, ScheduleAttr schedule,
                            const TargetSpec &target) {
  double products = predictProducts(problem, schedule, target);
  double operandBytes = static_cast<double>(problem.m + problem.n) * problem.k *
                        (problem.tiledType.isF32() ? 4 : 2);
  double memory = (operandBytes + problem.epilogueBytes) / target.memoryRate;
  // They overlap, but for the first loads and the last stores.
  double seconds = kLaunchSeconds + std::max(products, memory) +
                   std::min(products, memory) / 8;
  if (problem.fitBytes != 0)
    seconds += problem.fitBytes / target.memoryRate + kLaunchSeconds;
  return seconds;
}

ScheduleChoice tenon::predictMmaSync(const LayerProblem &problem,
                                     ScheduleAttr schedule,
                                     ArrayRef<const TargetSpec *> targets) {
  ScheduleChoice choice{schedule, {}};
  for (const TargetSpec *target : targets)
    choice.predictions.push_back(
        {target, getTiles(problem, schedule) / getResident(schedule, *target),
         predictKernel(problem, schedule, *target),
         predictLibrary(problem, *target)});
  return choice;
}

//===----------------------------------------------------------------------===//
// Candidates
//===----------------------------------------------------------------------===//

namespace {
/// A tile and its warps. Those that measured best come first: of two that are
/// predicted the same time, the first is taken.
struct Candidate {
  int64_t m, n, warpsM, warpsN;
};
} // namespace

static constexpr Candidate kCandidates[] = {
    {128, 256, 2, 4}, {256, 128, 4, 2}, {128, 128, 2, 4}, {64, 256, 2, 4},
    {64, 128, 2, 4},  {128, 64, 4, 2},  {32, 256, 1, 8},  {64, 64, 2, 2},
    {32, 128, 1, 4},  {16, 128, 1, 4},
};

/// Stages: 3 are best for the largest tiles, 4 for others where they fit.
static constexpr int64_t kStages[] = {4, 3};
static constexpr int64_t kRaster = 8;
/// How full the last wave must be to go without stream-K.
static constexpr double kFullEnough = 0.9;

static bool needsStreamK(const LayerProblem &problem, ScheduleAttr schedule,
                         ArrayRef<const TargetSpec *> targets) {
  return problem.isDynamic ||
         llvm::any_of(targets, [&](const TargetSpec *target) {
           double waves =
               getTiles(problem, schedule) / getResident(schedule, *target);
           double rest = waves - std::floor(waves);
           return rest != 0 && rest < kFullEnough;
         });
}

/// The schedule of a candidate with rows of `swizzle` bytes; null if a target
/// cannot take it.
static ScheduleAttr buildSchedule(const LayerProblem &problem,
                                  const Candidate &candidate, int64_t swizzle,
                                  ArrayRef<const TargetSpec *> targets) {
  Type type = problem.tiledType;
  int64_t tile[] = {candidate.m, candidate.n,
                    swizzle * 8 / type.getIntOrFloatBitWidth()};
  int64_t warps[] = {candidate.warpsM, candidate.warpsN};
  for (int64_t stages : kStages) {
    if (stages > 3 && candidate.m + candidate.n >= 384)
      continue;
    auto build = [&](bool streamK) {
      return ScheduleAttr::get(type.getContext(), KernelFamily::MmaSync, tile,
                               warps, stages, swizzle, kRaster, /*blocks=*/1,
                               streamK);
    };
    ScheduleAttr schedule = build(/*streamK=*/false);
    if (llvm::all_of(targets, [&](const TargetSpec *target) {
          return findProblem(schedule, type, *target).empty();
        }))
      return build(needsStreamK(problem, schedule, targets));
  }
  return {};
}

std::optional<ScheduleChoice>
tenon::chooseMmaSync(const LayerProblem &problem,
                     ArrayRef<const TargetSpec *> targets) {
  std::optional<ScheduleChoice> best;
  for (int64_t swizzle : {128, 64})
    for (const Candidate &candidate : kCandidates) {
      ScheduleAttr schedule =
          buildSchedule(problem, candidate, swizzle, targets);
      if (!schedule)
        continue;
      ScheduleChoice choice = predictMmaSync(problem, schedule, targets);
      if (!best || choice.getWorstRatio() < best->getWorstRatio())
        best = std::move(choice);
    }
  return best;
}
