//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which family of kernels a layer has.
//
//===----------------------------------------------------------------------===//

#include "FamilyChoice.h"

#include "Schedule/Prediction/ScheduleChoice.h"

using namespace mlir;
using namespace mlir::tenon;

/// Whether kernels of a family run on all targets.
static bool runsOnAll(const ScheduleFamily &family,
                      ArrayRef<const TargetSpec *> targets) {
  return llvm::all_of(targets, [&](const TargetSpec *target) {
    return family.runsOn(*target);
  });
}

const ScheduleFamily *
tenon::findBestFamily(ArrayRef<const TargetSpec *> targets) {
  for (const ScheduleFamily *family : ScheduleFamily::getAll())
    if (runsOnAll(*family, targets))
      return family;
  return nullptr;
}

FamilyChoice tenon::chooseFamily(const LayerProblem &problem,
                                 ArrayRef<const TargetSpec *> targets) {
  std::string betterProblem;
  for (const ScheduleFamily *family : ScheduleFamily::getAll()) {
    bool multiplies = runsOnAll(*family, targets) &&
                      llvm::all_of(targets, [&](const TargetSpec *target) {
                        return family->multiplies(problem.method, *target);
                      });
    if (!multiplies)
      continue;
    std::string unfit =
        family->findExtentProblem(problem.tiledType, problem.getTiledColumns());
    bool ofRows = problem.reduction == ReductionMethod::InTile ||
                  problem.reduction == ReductionMethod::ReduceOnly ||
                  problem.reduction == ReductionMethod::ResidentRows;
    if (unfit.empty() && ofRows && !family->choose(problem, targets))
      unfit = "none of its tiles has whole rows";
    if (unfit.empty())
      return {family, betterProblem};
    betterProblem = std::move(unfit);
  }
  return {nullptr, betterProblem};
}
