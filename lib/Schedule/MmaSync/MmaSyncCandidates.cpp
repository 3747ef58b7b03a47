//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lists schedules of family mma_sync, and chooses one.
//
//===----------------------------------------------------------------------===//

#include "MmaSyncCandidates.h"

#include "MmaSyncHeuristics.h"

using namespace mlir;
using namespace mlir::tenon;

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
/// Those of fp16x3 and fma, which have sums and partial sums: parts of a warp
/// have 64x32 elements at most.
static constexpr Candidate kPromotedCandidates[] = {
    {128, 128, 2, 4}, {64, 256, 1, 8}, {64, 128, 2, 4}, {128, 64, 4, 2},
    {64, 64, 2, 2},   {32, 128, 1, 4}, {16, 128, 1, 4},
};

/// Those of two weights, N of each: as many products a thread as the others
/// have. They are not measured.
static constexpr Candidate kPairCandidates[] = {
    {128, 128, 2, 4}, {256, 64, 4, 2}, {64, 128, 2, 4}, {128, 64, 4, 2},
    {64, 64, 2, 2},   {32, 128, 1, 4}, {32, 64, 1, 2},  {16, 64, 1, 2},
};

/// Stages at most for few rows, where a kernel waits for copies alone. On an
/// H200 8 of 16x128x64 were not faster than 6. They are taken where they are
/// predicted to take clearly less time than what is usual.
static constexpr int64_t kMoreStages = 5, kMostStages = 6;
static constexpr double kClearlyLess = 0.95;
static constexpr int64_t kRaster = 16;

/// Stages: 3 are best for the largest tiles, 4 for others where they fit.
static int64_t getUsualStages(const LayerProblem &problem,
                              const Candidate &candidate) {
  return candidate.m + problem.weights * candidate.n >= 384 ? 3 : 4;
}

static ArrayRef<Candidate> listCandidates(const LayerProblem &problem) {
  if (problem.weights != 1)
    return kPairCandidates;
  return getTraits(problem.method).hasPartialSums
             ? ArrayRef(kPromotedCandidates)
             : ArrayRef(kCandidates);
}

/// Whether the accumulators leave registers enough: rows that are not multiples
/// of 16 bytes are copied in parts, and finished and stored in parts too, and
/// rows that are reduced are computed several times.
static bool fitsRegisters(const LayerProblem &problem,
                          const Candidate &candidate) {
  int64_t accumulators = candidate.m * candidate.n * problem.weights /
                         (32 * candidate.warpsM * candidate.warpsN);
  int64_t rowBytes =
      problem.getTiledColumns() * problem.tiledType.getIntOrFloatBitWidth() / 8;
  return accumulators <= 64 ||
         (rowBytes % 16 == 0 && problem.n % 4 == 0 &&
          problem.reduction != ReductionMethod::InTile &&
          problem.reduction != ReductionMethod::ReduceOnly &&
          problem.reduction != ReductionMethod::ResidentRows);
}

/// The schedule of a candidate with rows of `swizzle` bytes and as many stages
/// as fit, of those allowed; null if a target cannot take it, or has no room
/// for a turn where tiles wait for each other. All others have stream-K: the
/// kernel sees at the launch whether there is an incomplete wave to divide, and
/// pays nothing where there is none.
static ScheduleAttr buildSchedule(const LayerProblem &problem,
                                  const Candidate &candidate, int64_t swizzle,
                                  int64_t mostStages, int64_t leastStages,
                                  ArrayRef<const TargetSpec *> targets) {
  Type type = problem.tiledType;
  bool waits = problem.reduction == ReductionMethod::Resident ||
               problem.reduction == ReductionMethod::ResidentRows;
  for (int64_t stages = mostStages; stages >= leastStages; --stages) {
    auto schedule =
        ScheduleAttr::get(type.getContext(),
                          {.family = KernelFamily::MmaSync,
                           .tile = {candidate.m, candidate.n,
                                    swizzle * 8 / type.getIntOrFloatBitWidth()},
                           .warps = {candidate.warpsM, candidate.warpsN},
                           .stages = stages,
                           .swizzle = swizzle,
                           .raster = kRaster,
                           .blocks = 1,
                           .streamK = !waits && problem.siblings == 1,
                           .weights = problem.weights,
                           .siblings = problem.siblings,
                           .method = problem.method,
                           .reduction = problem.reduction});
    if (canRun(problem, schedule, targets))
      return schedule;
  }
  return {};
}

/// The one that is predicted to take least time; of two that take the same, the
/// first.
static std::optional<ScheduleChoice>
predictBest(const LayerProblem &problem, ArrayRef<ScheduleAttr> schedules,
            ArrayRef<const TargetSpec *> targets) {
  std::optional<ScheduleChoice> best;
  for (ScheduleAttr schedule : schedules) {
    ScheduleChoice choice = predictSchedule(problem, schedule, targets);
    if (!best || choice.getWorstRatio() < best->getWorstRatio())
      best = std::move(choice);
  }
  return best;
}

SmallVector<ScheduleAttr>
tenon::listMmaSyncSchedules(const LayerProblem &problem,
                            ArrayRef<const TargetSpec *> targets) {
  bool isPromoted = getTraits(problem.method).hasPartialSums;
  SmallVector<ScheduleAttr> schedules;
  for (int64_t swizzle : {128, 64})
    for (const Candidate &candidate : listCandidates(problem)) {
      // Rows of 64 bytes would have hi and lo in tiles of their own.
      if (!fitsRegisters(problem, candidate) || (isPromoted && swizzle != 128))
        continue;
      // Others were not measured.
      if (isForMmaSync(problem) && candidate.m != 16)
        continue;
      auto add = [&](int64_t most, int64_t least) {
        if (ScheduleAttr schedule = buildSchedule(problem, candidate, swizzle,
                                                  most, least, targets))
          schedules.push_back(schedule);
      };
      add(getUsualStages(problem, candidate), 3);
      if (isForMmaSync(problem))
        add(kMostStages, kMoreStages);
    }
  return schedules;
}

std::optional<ScheduleChoice>
tenon::chooseMmaSync(const LayerProblem &problem,
                     ArrayRef<const TargetSpec *> targets) {
  SmallVector<ScheduleAttr> usual, withMore;
  for (ScheduleAttr schedule : listMmaSyncSchedules(problem, targets))
    (schedule.getStages() < kMoreStages ? usual : withMore).push_back(schedule);
  std::optional<ScheduleChoice> best = predictBest(problem, usual, targets);
  std::optional<ScheduleChoice> other = predictBest(problem, withMore, targets);
  bool isBetter = best && other &&
                  other->getWorstRatio() < kClearlyLess * best->getWorstRatio();
  return isBetter ? other : best;
}
