//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Chooses one of the schedules of family wgmma.
//
//===----------------------------------------------------------------------===//

#include "Heuristics.h"

using namespace mlir;
using namespace mlir::tenon;

/// What counts as the same time; for fp16x3; and for it with stream-K, which
/// seldom gave what is predicted.
static constexpr double kSameTime = 0.98, kSameSplitTime = 0.97,
                        kSameStreamKTime = 0.95;

static ScheduleChoice predictBest(const LayerProblem &problem,
                                  ArrayRef<const TargetSpec *> targets) {
  bool isSplit = problem.method == ProductMethod::FP16x3;
  ScheduleChoice best;
  for (ScheduleAttr schedule : listWgmmaSchedules(problem, targets)) {
    ScheduleChoice choice = predictSchedule(problem, schedule, targets);
    double sameTime = !isSplit                ? kSameTime
                      : schedule.getStreamK() ? kSameStreamKTime
                                              : kSameSplitTime;
    if (!best.schedule ||
        choice.getWorstRatio() < sameTime * best.getWorstRatio())
      best = std::move(choice);
  }
  return best;
}

static TunedSchedule::InputType getInputType(const LayerProblem &problem) {
  if (problem.method == ProductMethod::FP16x3)
    return TunedSchedule::FP32;
  if (problem.tiledType.isF16())
    return TunedSchedule::F16;
  return problem.tiledType.isBF16() ? TunedSchedule::BF16 : TunedSchedule::TF32;
}

/// The schedule of a line. Those of f16 serve method fp16 as well, and those of
/// a layer without batch norm one with it; null if they cannot.
static ScheduleAttr parseLine(const TunedSchedule &line,
                              const LayerProblem &problem,
                              ArrayRef<const TargetSpec *> targets) {
  ScheduleAttr schedule = line.parse(problem.tiledType.getContext());
  if (!schedule)
    return {};
  schedule =
      schedule.withMethod(problem.method).withReduction(problem.reduction);
  return canRun(problem, schedule, targets) ? schedule : ScheduleAttr();
}

std::optional<ScheduleChoice>
tenon::chooseWgmma(const LayerProblem &problem,
                   ArrayRef<const TargetSpec *> targets,
                   ArrayRef<TunedSchedule> table) {
  ScheduleChoice best = predictBest(problem, targets);
  const TunedSchedule *line =
      problem.hasDynamicRows
          ? nullptr
          : findTuned(table, getInputType(problem), problem.m, problem.n,
                      problem.k, problem.epilogue);
  ScheduleAttr schedule =
      line ? parseLine(*line, problem, targets) : ScheduleAttr();
  if (!schedule)
    return best.schedule ? std::optional(best) : std::nullopt;
  ScheduleChoice tuned = predictSchedule(problem, schedule, targets);
  tuned.isTuned = true;
  // Predictions tell reductions apart: what measured best is not slower than
  // what is predicted best.
  if (problem.hasNorm && best.schedule)
    for (auto [mine, other] : llvm::zip(tuned.predictions, best.predictions))
      mine.seconds = std::min(mine.seconds, other.seconds);
  // What measured best for another M may need one more wave here.
  if (line->m != problem.m && best.schedule &&
      best.getWorstRatio() < kSameTime * tuned.getWorstRatio())
    return best;
  return tuned;
}
