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

#include "WgmmaChoice.h"

#include "WgmmaCandidates.h"

using namespace mlir;
using namespace mlir::tenon;

/// What counts as the same time; for fp16x3; and for it with stream-K, which
/// seldom gave what is predicted. Of 8 bits whole waves took what is predicted,
/// and a last wave that is divided more: 1024x8192x8192 112 us in the place of
/// 108, and 104 in tiles of 128x176 (an H200, 2026-11-29).
static constexpr double kSameTime = 0.98, kSameSplitTime = 0.97,
                        kSameStreamKTime = 0.95, kSameLastWaveTime = 0.88;

/// What part of the best time that is predicted is less than the same.
static double getSameTime(const LayerProblem &problem,
                          const ScheduleChoice &choice) {
  bool isOfBytes = problem.method == ProductMethod::FP8;
  if (!getTraits(problem.method).hasPartialSums)
    return kSameTime;
  if (!choice.schedule.getStreamK())
    return isOfBytes ? kSameTime : kSameSplitTime;
  return isOfBytes && choice.predictions.front().waves > 1 ? kSameLastWaveTime
                                                           : kSameStreamKTime;
}

static ScheduleChoice predictBest(const LayerProblem &problem,
                                  ArrayRef<const TargetSpec *> targets) {
  // What all of them wait for alike does not tell them apart.
  LayerProblem fitted = problem;
  fitted.fitBytes = 0;
  ScheduleChoice best;
  for (ScheduleAttr schedule : listWgmmaSchedules(problem, targets)) {
    ScheduleChoice choice = predictSchedule(fitted, schedule, targets);
    if (!best.schedule ||
        choice.getWorstRatio() <
            getSameTime(problem, choice) * best.getWorstRatio())
      best = std::move(choice);
  }
  return best.schedule ? predictSchedule(problem, best.schedule, targets)
                       : best;
}

/// The lines that a problem may have, the best ones first: those of f16 serve
/// method fp16 as well.
static SmallVector<TunedSchedule::InputType>
getInputTypes(const LayerProblem &problem) {
  if (problem.method == ProductMethod::FP16x3)
    return {TunedSchedule::FP32};
  if (problem.method == ProductMethod::FP16)
    return {TunedSchedule::TF32ByFP16, TunedSchedule::F16};
  if (problem.method == ProductMethod::FP8)
    return {};
  if (problem.tiledType.isF16())
    return {TunedSchedule::F16};
  return {problem.tiledType.isBF16() ? TunedSchedule::BF16
                                     : TunedSchedule::TF32};
}

/// The schedule of a line. Those of a layer without batch norm serve one with
/// it; null if they cannot.
static ScheduleAttr parseLine(const TunedSchedule &line,
                              const LayerProblem &problem,
                              ArrayRef<const TargetSpec *> targets) {
  ScheduleAttr schedule = line.parse(problem.tiledType.getContext());
  if (!schedule)
    return {};
  schedule = schedule.withMethod(problem.method)
                 .withReduction(problem.reduction)
                 .withSiblings(problem.siblings);
  // Whether to hide an exchange is for the prediction to say.
  if (problem.reduction == ReductionMethod::Resident)
    schedule = schedule.withoutDefer();
  return canRun(problem, schedule, targets) ? schedule : ScheduleAttr();
}

namespace {
/// What the table has for a problem.
struct TunedChoice {
  int64_t m = 0; ///< of the line
  ScheduleAttr schedule;
};
} // namespace

static TunedChoice lookUp(const LayerProblem &problem,
                          ArrayRef<const TargetSpec *> targets,
                          ArrayRef<TunedSchedule> table) {
  if (problem.hasDynamicRows)
    return {};
  SmallVector<EpilogueClass> epilogues{problem.epilogue};
  // Moments make an epilogue heavy. Of method fp16 light lines were measured.
  if (problem.reduction == ReductionMethod::TwoPhase &&
      problem.method == ProductMethod::Direct)
    epilogues.insert(epilogues.begin(), EpilogueClass::Heavy);
  for (EpilogueClass epilogue : epilogues)
    for (TunedSchedule::InputType type : getInputTypes(problem))
      if (const TunedSchedule *line = findTuned(
              table, type, problem.m, problem.n,
              problem.longestK ? problem.longestK : problem.k, epilogue))
        if (ScheduleAttr schedule = parseLine(*line, problem, targets))
          return {line->m, schedule};
  return {};
}

std::optional<ScheduleChoice>
tenon::chooseWgmma(const LayerProblem &problem,
                   ArrayRef<const TargetSpec *> targets,
                   ArrayRef<TunedSchedule> table) {
  ScheduleChoice best = predictBest(problem, targets);
  TunedChoice line = lookUp(problem, targets, table);
  if (!line.schedule)
    return best.schedule ? std::optional(best) : std::nullopt;
  ScheduleChoice tuned = predictSchedule(problem, line.schedule, targets);
  tuned.isTuned = true;
  // What measured best for another M may need one more wave here, what did
  // without a reduction hides no exchange, and sums are of more products.
  bool mayBeWorse = line.m != problem.m || problem.longestK ||
                    (problem.reduction == ReductionMethod::Resident &&
                     best.schedule && best.schedule.getDefer());
  if (mayBeWorse && best.schedule &&
      best.getWorstRatio() < kSameTime * tuned.getWorstRatio())
    return best;
  // Predictions tell reductions apart: what measured best is not slower than
  // what is predicted best.
  if (problem.hasNorm && best.schedule)
    for (auto [mine, other] : llvm::zip(tuned.predictions, best.predictions))
      mine.seconds = std::min(mine.seconds, other.seconds);
  return tuned;
}
