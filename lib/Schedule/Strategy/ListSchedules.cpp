//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// --tenon-list-schedules: the schedules of each linear layer that are worth
// measuring.
//
//===----------------------------------------------------------------------===//

#include "FamilyChoice.h"
#include "Layer.h"
#include "Schedule/Prediction/ScheduleChoice.h"

#include "tenon/Schedule/Passes.h"
#include "tenon/Schedule/Strategy/StrategyOptions.h"

#include <map>

namespace mlir::tenon {
#define GEN_PASS_DEF_TENONLISTSCHEDULES
#include "tenon/Schedule/Passes.h.inc"
} // namespace mlir::tenon

using namespace mlir;
using namespace mlir::tenon;

/// By rank, and of one rank in the order in which they were found.
using Ranked = std::multimap<double, Attribute>;

/// Those that multiply by one method, with what reduces left to other kernels.
static void rankSchedules(LinearLikeOp layer, ProductMethod method,
                          ArrayRef<const TargetSpec *> targets,
                          Ranked &ranked) {
  if (findTiledObstacle(layer, method, ReductionMethod::Separate))
    return;
  LayerProblem problem =
      describeProblem(layer, method, ReductionMethod::Separate);
  if (const ScheduleFamily *family = chooseFamily(problem, targets).family)
    for (auto [schedule, rank] : family->rank(problem, targets))
      ranked.emplace(rank, schedule);
}

static void listSchedules(LinearLikeOp layer,
                          ArrayRef<const TargetSpec *> targets) {
  Ranked ranked;
  for (ProductMethod method : listMethods(layer))
    rankSchedules(layer, method, targets, ranked);
  Builder builder(layer->getContext());
  bool isHeavy = classifyEpilogue(layer) == EpilogueClass::Heavy;
  NamedAttribute facts[] = {
      builder.getNamedAttr("epilogue",
                           builder.getStringAttr(isHeavy ? "heavy" : "light")),
      builder.getNamedAttr("schedules", builder.getArrayAttr(llvm::to_vector(
                                            llvm::make_second_range(ranked))))};
  layer->setAttr(TenonDialect::kCandidatesAttr,
                 builder.getDictionaryAttr(facts));
}

namespace {
struct ListSchedules : tenon::impl::TenonListSchedulesBase<ListSchedules> {
  using Base::Base;

  void runOnOperation() override {
    auto known = lookupTargets(targets, getOperation().getLoc());
    if (failed(known))
      return signalPassFailure();
    if (known->empty())
      return;
    getOperation()->walk(
        [&](LinearLikeOp layer) { listSchedules(layer, *known); });
  }
};
} // namespace
