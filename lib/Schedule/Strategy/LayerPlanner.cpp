//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds the best way to tile a layer: its method, its reduction, its schedule.
//
//===----------------------------------------------------------------------===//

#include "LayerPlanner.h"

#include "FamilyChoice.h"

#include "tenon/Schedule/Checks/ReductionMethod.h"
#include "tenon/Schedule/Checks/RowParts.h"

using namespace mlir;
using namespace mlir::tenon;

/// How much faster a reduction must be that is taken in place of resident.
static constexpr double kTie = 1.03;

/// Columns of a tile at most. Where it has whole rows, no other kernel need
/// follow.
static constexpr int64_t kWidestTile = 256;
/// Columns of a group at least that has tiles of its own: narrower ones
/// multiply more slowly than a kernel behind the product takes.
static constexpr int64_t kNarrowestGroup = 128;

LogicalResult LayerPlanner::checkSchedule(const LayerProblem &layerProblem) {
  Type type = layerProblem.tiledType;
  for (const TargetSpec *target : request.targets) {
    std::string problem = findProblem(schedule, type, *target);
    if (!problem.empty())
      return layer->emitOpError("cannot have the schedule ")
             << schedule << " on " << target->name << ": " << problem;
    if (schedule.getReduction() == ReductionMethod::Resident &&
        !layerProblem.hasDynamicRows &&
        !fitsTurn(layerProblem, schedule, *target))
      return layer->emitOpError("cannot have the schedule ")
             << schedule << " on " << target->name
             << ": with reduction = resident all row tiles of M = "
             << layerProblem.m << " must be at work at once, more than its "
             << target->multiprocessors
             << " multiprocessors; use larger tiles, or reduction = two_phase";
    if (getTeams(layerProblem, schedule, *target) == 0)
      return layer->emitOpError("cannot have the schedule ")
             << schedule << " on " << target->name
             << ": with reduction = resident_rows all tiles of a row, or of a "
                "group of its columns, must be at work at once, of "
             << layerProblem.reducedColumns << " columns more than its "
             << target->multiprocessors
             << " multiprocessors; use larger tiles, or leave reduction out";
  }
  std::string problem = findExtentProblem(schedule.getFamily(), type,
                                          layerProblem.getTiledColumns());
  if (problem.empty())
    problem = findLayoutProblem(schedule, type, layer.getLayout(),
                                layerProblem.getExtents());
  if (problem.empty())
    return success();
  return layer->emitOpError("cannot have the schedule ")
         << schedule << ": " << problem
         << (schedule.getMethod() == ProductMethod::FP8
                 ? ""
                 : ", or take a mma_sync schedule");
}

/// The schedule that is asked for, or the best one; nothing if none runs on all
/// targets.
std::optional<LayerPlan> LayerPlanner::plan(const LayerProblem &problem) {
  if (schedule)
    return LayerPlan{problem,
                     predictSchedule(problem, schedule, request.targets), ""};
  FamilyChoice choice = chooseFamily(problem, request.targets);
  if (!choice.family)
    return std::nullopt;
  auto schedules = choice.family->choose(problem, request.targets);
  if (!schedules)
    return std::nullopt;
  return LayerPlan{problem, std::move(*schedules), choice.betterProblem};
}

/// Adds to the words on reductions why one cannot be.
void LayerPlanner::addMiss(ReductionMethod reduction, const Reason &reason) {
  reductions.emplace_back(ReasonCode::ReductionCannotBe,
                          stringifyReductionMethod(reduction), reason);
}

/// Keeps the plan for this method and reduction if it is better than those
/// before, by what each may take of the library's time.
LogicalResult LayerPlanner::planReduction(ProductMethod method,
                                          ReductionMethod reduction) {
  bool isOfNorm = reduction != ReductionMethod::Separate;
  auto miss = [&](Reason reason) {
    if (isOfNorm)
      addMiss(reduction, reason);
    obstacle = std::move(reason);
    return success();
  };
  if (auto found = findTiledObstacle(layer, method, reduction))
    return miss(*found);
  LayerProblem problem = describeProblem(layer, method, reduction);
  if (schedule && failed(checkSchedule(problem)))
    return failure();
  std::optional<LayerPlan> next = plan(problem);
  if (!next && reduction == ReductionMethod::Resident)
    return miss({ReasonCode::NoScheduleForRows, problem.m});
  if (!next)
    return miss({ReasonCode::NoSchedule});
  if (reduction == ReductionMethod::Resident && !schedule &&
      request.reduction != reduction &&
      !ScheduleFamily::of(next->choice.schedule).traits.isResidentMeasured)
    return success();
  std::string unfit = findReductionProblem(layer, next->choice.schedule);
  // Another schedule may have room for what this one has none for.
  if (!unfit.empty() && !schedule) {
    problem.reduced = dyn_cast<FusedLinearOp>(layer.getOperation());
    if (std::optional<LayerPlan> other = plan(problem)) {
      next = std::move(other);
      unfit.clear();
    }
  }
  if (!unfit.empty())
    return miss({ReasonCode::ReductionDoesNotFit, unfit});
  if (problem.hasNorm)
    reductions.emplace_back(ReasonCode::ReductionTime,
                            stringifyReductionMethod(reduction),
                            stringifyProductMethod(method),
                            next->choice.predictions.front().seconds * 1e6);
  auto getShare = [](const LayerPlan &plan) {
    const ScheduleChoice &choice = plan.choice;
    return choice.getWorstRatio() / ScheduleFamily::of(choice.schedule)
                                        .getShareLimit(plan.problem, choice);
  };
  // A resident kernel, if one would be tiled at all, does not round what it
  // normalises, so where others are predicted alike, within what predictions
  // err by, it stays.
  bool isKept = best && best->problem.reduction == ReductionMethod::Resident &&
                reduction != ReductionMethod::Resident && getShare(*best) <= 1;
  if (!best || getShare(*next) * (isKept ? kTie : 1) < getShare(*best))
    best = std::move(next);
  return success();
}

/// Whether no kernel of the family that the targets have reduces so.
static bool hasNoKernel(ProductMethod method, ReductionMethod reduction,
                        const ScheduleFamily *best) {
  return reduction == ReductionMethod::Resident &&
         getTraits(method).usesTensorCores && method != ProductMethod::Direct &&
         best && best->traits.isResidentDirect;
}

/// Whether to look at a reduction that nothing asks for. What keeps resident,
/// input_moments, reduce_only and resident_rows from most layers needs no
/// words.
static bool isWorthTrying(LinearLikeOp layer, ReductionMethod reduction,
                          const ScheduleFamily *best) {
  int64_t n = layer.getProductType().getDimSize(1);
  if (reduction == ReductionMethod::ResidentRows) {
    int64_t columns = getReducedColumns(layer);
    return columns >= (columns == n ? kWidestTile + 1 : kNarrowestGroup) &&
           best && best->traits.isResidentMeasured &&
           findRowExchangeProblem(layer).empty() &&
           !findRowPartsProblem(layer).empty(); // else nothing need wait
  }
  if (reduction == ReductionMethod::ReduceOnly)
    return n > kWidestTile && findRowPartsProblem(layer).empty();
  if (reduction == ReductionMethod::InputMoments)
    return layer.getK() <= ProductMomentsOp::kMaxColumns &&
           layer.getPrecision() != Precision::TF32;
  return reduction != ReductionMethod::Resident ||
         (!layer.getProductType().isDynamicDim(0) && best &&
          best->traits.isResidentMeasured);
}

/// Whether a way to reduce is for rows; the first is for columns too.
static bool isOfRows(ReductionMethod reduction) {
  return reduction == ReductionMethod::InTile ||
         reduction == ReductionMethod::ReduceOnly ||
         reduction == ReductionMethod::ResidentRows;
}

LogicalResult LayerPlanner::run(ArrayRef<ProductMethod> methods) {
  if (schedule)
    return planReduction(methods.front(), schedule.getReduction());
  const ScheduleFamily *family = findBestFamily(request.targets);
  SmallVector<ReductionMethod> all{ReductionMethod::Separate};
  if (hasBatchNorm(layer))
    all.append({ReductionMethod::TwoPhase, ReductionMethod::Resident,
                ReductionMethod::InputMoments});
  if (reducesRows(layer))
    all.append({ReductionMethod::InTile, ReductionMethod::ReduceOnly,
                ReductionMethod::ResidentRows});
  // What is asked of the other axis leaves this one to the predictions.
  std::optional<ReductionMethod> asked = request.reduction;
  if (asked && asked != ReductionMethod::Separate &&
      isOfRows(*asked) != reducesRows(layer))
    asked.reset();
  for (ReductionMethod reduction : llvm::reverse(all)) {
    // What is asked for is for the layers that can have it; others have what
    // keeps less in the kernel.
    bool isMore =
        reducesRows(layer)
            ? reduction != asked && reduction != ReductionMethod::Separate
            : reduction > asked;
    if (asked && (isMore || best))
      continue;
    bool isAsked = asked == reduction;
    if (!isAsked && !isWorthTrying(layer, reduction, family))
      continue;
    for (ProductMethod method : methods) {
      if (hasNoKernel(method, reduction, family)) {
        if (isAsked) // else it needs no words
          addMiss(reduction, {ReasonCode::WaitsByDirectAlone,
                              stringifyKernelFamily(family->traits.family),
                              stringifyProductMethod(method)});
        continue;
      }
      if (failed(planReduction(method, reduction)))
        return failure();
    }
  }
  if (!asked && hasBatchNorm(layer) && layer.getProductType().isDynamicDim(0) &&
      family && family->traits.isResidentMeasured &&
      llvm::is_contained(methods, ProductMethod::Direct))
    reductions.emplace_back(ReasonCode::ResidentIsNotMeasured);
  return success();
}
