//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a layer asks of a tiled kernel, whether a schedule runs on the targets,
// and what it comes to on each.
//
//===----------------------------------------------------------------------===//

#include "ScheduleChoice.h"

#include "LibraryTime.h"
#include "tenon/Schedule/Checks/ScheduleFamily.h"

#include "tenon/Schedule/Checks/ReductionMethod.h"

using namespace mlir;
using namespace mlir::tenon;

//===----------------------------------------------------------------------===//
// Whether a schedule runs
//===----------------------------------------------------------------------===//

/// Columns of clusters that are at work at once where a column's wait for each
/// other.
static int64_t getColumnsOfTurn(const LayerProblem &problem,
                                ScheduleAttr schedule,
                                const TargetSpec &target) {
  int64_t rows = llvm::divideCeil(problem.m, schedule.getTile()[0] *
                                                 schedule.getClusterM());
  return target.multiprocessors / schedule.getClusterBlocks() / rows;
}

int64_t tenon::getTeams(const LayerProblem &problem, ScheduleAttr schedule,
                        const TargetSpec &target) {
  int64_t units = target.multiprocessors / schedule.getClusterBlocks();
  if (problem.reduction != ReductionMethod::ResidentRows)
    return units;
  int64_t columns = problem.reducedColumns;
  // So must those of the kernel beside it, which computes anew what a split
  // does not hold.
  if (schedule.isSplit())
    if (int64_t beside = getColumnsBeside(schedule, problem.n, columns);
        beside == 0 || static_cast<int64_t>(llvm::divideCeil(columns, beside)) >
                           target.multiprocessors)
      return 0;
  return units / llvm::divideCeil(columns, schedule.getTile()[1] *
                                               schedule.getClusterN());
}

bool tenon::fitsTurn(const LayerProblem &problem, ScheduleAttr schedule,
                     const TargetSpec &target) {
  return getColumnsOfTurn(problem, schedule, target) != 0;
}

double tenon::getTurns(const LayerProblem &problem, ScheduleAttr schedule,
                       const TargetSpec &target) {
  // A written schedule may not fit at a dynamic M; then two_phase runs.
  int64_t columns = getColumnsOfTurn(problem, schedule, target);
  return static_cast<double>(
      llvm::divideCeil(llvm::divideCeil(problem.n, schedule.getTile()[1] *
                                                       schedule.getClusterN()),
                       std::max<int64_t>(columns, 1)));
}

/// Elements of K at least that hide an exchange: 32 stages of 16 bits.
static constexpr int64_t kLeastHeldK = 2048;

bool tenon::mayHold(const LayerProblem &problem) {
  return problem.reduction == ReductionMethod::Resident &&
         !problem.hasDynamicRows && problem.k >= kLeastHeldK &&
         problem.epilogue == EpilogueClass::Light &&
         llvm::all_of(problem.matrixBytes,
                      [](int64_t bytes) { return bytes == 2; });
}

bool tenon::canRun(const LayerProblem &problem, ScheduleAttr schedule,
                   ArrayRef<const TargetSpec *> targets) {
  bool isResident = problem.reduction == ReductionMethod::Resident;
  if (!ScheduleFamily::of(schedule).canCompute(problem, schedule))
    return false;
  if (problem.reduction == ReductionMethod::InTile &&
      !findWholeRowProblem(schedule, problem.n, problem.reducedColumns).empty())
    return false;
  if (problem.reduction == ReductionMethod::ReduceOnly &&
      !findPartTileProblem(schedule, problem.n).empty())
    return false;
  if (problem.reduction == ReductionMethod::ResidentRows &&
      !findResidentRowProblem(schedule, problem.n, problem.reducedColumns)
           .empty())
    return false;
  if (problem.reduced &&
      !findReductionProblem(problem.reduced, schedule).empty())
    return false;
  if (!findLayoutProblem(schedule, problem.tiledType, problem.layout,
                         problem.getExtents())
           .empty())
    return false;
  return llvm::all_of(targets, [&](const TargetSpec *target) {
    return findProblem(schedule, problem.tiledType, *target).empty() &&
           (!isResident || fitsTurn(problem, schedule, *target)) &&
           getTeams(problem, schedule, *target) != 0;
  });
}

//===----------------------------------------------------------------------===//
// What a schedule comes to
//===----------------------------------------------------------------------===//

/// A guarded kernel that finds nothing to do reads the factors: 2.5 to 3.5 us
/// on an H200, launch included.
static constexpr double kGuardSeconds = 1e-6;

double tenon::predictOthers(const LayerProblem &problem, ScheduleAttr schedule,
                            const TargetSpec &target) {
  bool fits = ScheduleFamily::of(schedule).traits.roundsTf32 &&
              problem.tiledType.isF32();
  double seconds = 0;
  if (problem.fitBytes != 0 && !fits)
    seconds += problem.fitBytes / target.memoryRate + kLaunchSeconds;
  if (schedule.isSplit())
    seconds += problem.weights * (kGuardSeconds + kLaunchSeconds);
  if (problem.reduction == ReductionMethod::InputMoments)
    seconds += predictInputMoments(problem, target);
  if (problem.reduction == ReductionMethod::ReduceOnly)
    seconds += predictParts(problem, schedule, target);
  if (problem.givesSums)
    seconds += predictSums();
  return problem.tiledDoesAll
             ? seconds
             : seconds + predictRest(problem, target, problem.reduction);
}

double ExchangeTimes::predict(ScheduleAttr schedule, double parts,
                              const TargetSpec &target) const {
  ArrayRef<int64_t> tile = schedule.getTile();
  double bytes =
      4 * static_cast<double>(tile[0] * tile[1] * schedule.getWeights());
  return publish + (parts - 1) * (wait + bytes * target.multiprocessors / rate);
}

ScheduleChoice tenon::predictSchedule(const LayerProblem &problem,
                                      ScheduleAttr schedule,
                                      ArrayRef<const TargetSpec *> targets) {
  const ScheduleFamily &family = ScheduleFamily::of(schedule);
  ScheduleChoice choice;
  choice.schedule = schedule;
  for (const TargetSpec *target : targets)
    choice.predictions.push_back(family.predict(problem, schedule, *target));
  return choice;
}

double ScheduleChoice::getWorstRatio() const {
  double worst = 0;
  for (const Prediction &prediction : predictions)
    worst = std::max(worst, prediction.seconds / prediction.library);
  return worst;
}
