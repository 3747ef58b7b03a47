//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Decides how a layer is computed, and says why.
//
//===----------------------------------------------------------------------===//

#include "StrategySelector.h"

#include "FitOperands.h"

#include "tenon/Schedule/Checks/EpilogueObstacle.h"
#include "tenon/Schedule/Checks/ProductMethod.h"
#include "tenon/Schedule/Checks/ReductionMethod.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::tenon;

StrategySelector::StrategySelector(const Layer &layer,
                                   const StrategyRequest &request)
    : layer(layer), op(layer.op), request(request),
      schedule(op->getAttrOfType<ScheduleAttr>(TenonDialect::kScheduleAttr)) {
  if (auto attribute =
          op->getAttrOfType<StrategyAttr>(TenonDialect::kStrategyAttr))
    written = attribute.getValue();
  else if (schedule)
    written = Strategy::Tiled;
}

//===----------------------------------------------------------------------===//
// Remarks
//===----------------------------------------------------------------------===//

remark::RemarkOpts StrategySelector::getOptions() {
  auto function = op->getParentOfType<FunctionOpInterface>();
  return remark::RemarkOpts::name("Strategy")
      .category("tenon-select-strategy")
      .function(function ? function.getName() : StringRef());
}

/// "M = 1024, sm_80: 0.59 waves, 103.2 us tiled, 117.0 us by the library"; of a
/// dynamic M "M = 1024 (dynamic)", as which it is planned.
static std::string describeTimes(const ScheduleChoice &choice,
                                 const LayerProblem &problem) {
  std::string text = llvm::formatv("M = {0}{1}", problem.m,
                                   problem.hasDynamicRows ? " (dynamic)" : "");
  for (const Prediction &prediction : choice.predictions)
    text += llvm::formatv(", {0}: {1:F2} waves, {2:F1} us tiled, {3:F1} us by "
                          "the library",
                          prediction.target->name, prediction.waves,
                          prediction.seconds * 1e6, prediction.library * 1e6);
  return text;
}

//===----------------------------------------------------------------------===//
// The decision
//===----------------------------------------------------------------------===//

void StrategySelector::setLibrary() {
  op->setAttr(TenonDialect::kStrategyAttr,
              StrategyAttr::get(op->getContext(), Strategy::Library));
}

void StrategySelector::setTiled(const ScheduleChoice &choice) {
  op->setAttr(TenonDialect::kStrategyAttr,
              StrategyAttr::get(op->getContext(), Strategy::Tiled));
  op->setAttr(TenonDialect::kScheduleAttr, choice.schedule);
  OpBuilder builder(op->getContext());
  fitOperands(layer, choice.schedule, builder);
}

/// Whether cuBLAS computes a product of tf32 as one of f32: of one row it did
/// (1x4096x4096, benchmarks/results/sm90a_sweep.json), of 16 it rounds x and w.
static bool libraryErrsLess(const LayerProblem &problem) {
  return problem.m == 1 && !problem.isFp32 && problem.libraryType.isF32();
}

/// Whether `auto` tiles the layer, and why.
Verdict StrategySelector::weigh(const Plan &plan) {
  const auto &[problem, choice, betterProblem] = plan;
  if (!getTraits(problem.method).usesTensorCores)
    return {false, "fused multiply-adds are no faster than the library's"};
  if (libraryErrsLess(problem))
    return {false, "of one row the library does not round x and w to tf32, and "
                   "errs less"};
  return ScheduleFamily::of(choice.schedule)
      .weigh(problem, choice, request.targets);
}

/// What a tiled kernel leaves of the layer to others, and what it does of a
/// batch norm; "" if there is none.
std::string StrategySelector::describeRest(ReductionMethod reduction) {
  if (reduction == ReductionMethod::TwoPhase)
    return "the product with moments for the batch norm; ";
  if (reduction == ReductionMethod::Resident)
    return "the batch norm too; ";
  if (reduction == ReductionMethod::InputMoments)
    return "the batch norm too, by moments of x; ";
  std::optional<TiledObstacle> obstacle = findEpilogueObstacle(layer);
  if (!obstacle)
    return "";
  return "the product alone, since " + obstacle->reason + "; ";
}

/// For a layer that can be tiled: whether it is.
LogicalResult StrategySelector::decide() {
  Verdict verdict{true, "written on the layer"};
  if (!written && request.strategy)
    verdict.reason = "strategy=tiled";
  else if (!written)
    verdict = weigh(*best);
  std::string notBetter;
  if (!best->betterProblem.empty())
    notBetter =
        llvm::formatv("{0}, since {1}; ",
                      stringifyKernelFamily(best->choice.schedule.getFamily()),
                      best->betterProblem);
  remark::analysis(op->getLoc(), getOptions())
      << remark::add("{0}: {1}", verdict.isTiled ? "tiled" : "library",
                     verdict.reason)
      << remark::reason("{0}{1}{2}{3}{4}; {5}",
                        describeRest(best->problem.reduction), reductions,
                        notBetter, best->choice.isTuned ? "tuned: " : "",
                        describe(best->choice.schedule),
                        describeTimes(best->choice, best->problem));
  if (verdict.isTiled)
    setTiled(best->choice);
  else
    setLibrary();
  return success();
}

/// For a layer that cannot be tiled.
LogicalResult StrategySelector::reject(const TiledObstacle &obstacle) {
  if (written) {
    std::string remedy = obstacle.suggestion;
    if (!remedy.empty())
      remedy += ", or ";
    return op->emitOpError("cannot be tiled: ")
           << obstacle.reason << "; " << remedy
           << "write #tenon.strategy<library>";
  }
  auto missed = remark::missed(op->getLoc(), getOptions());
  missed << remark::add("library: the layer cannot be tiled")
         << remark::reason("{0}", obstacle.reason);
  if (!obstacle.suggestion.empty())
    missed << remark::suggest("{0}", obstacle.suggestion);
  setLibrary();
  return success();
}

LogicalResult StrategySelector::run() {
  if (written == Strategy::Library && schedule)
    return op->emitOpError("has a schedule, but the strategy library takes "
                           "none; write #tenon.strategy<tiled>, or remove "
                           "'tenon.schedule'");
  if (written.value_or(request.strategy.value_or(Strategy::Tiled)) ==
      Strategy::Library) {
    remark::analysis(op->getLoc(), getOptions()) << remark::add(
        "library: {0}", written ? "written on the layer" : "strategy=library");
    setLibrary();
    return success();
  }
  bool isGiven = !schedule && request.schedule;
  if (isGiven)
    schedule = request.schedule;
  SmallVector<ProductMethod> methods = listMethods(layer);
  if (schedule)
    methods = {schedule.getMethod()};
  // The schedule of all layers may be for others than this one.
  std::string problem = findPrecisionProblem(methods[0], layer.getInputType(),
                                             layer.precision, layer.getK());
  if (problem.empty() && schedule)
    problem = findReductionProblem(layer, schedule);
  if (isGiven && !problem.empty())
    return reject({problem, "write a schedule of its own on the layer"});
  if (!problem.empty())
    return op->emitOpError("cannot have the schedule ")
           << schedule << ": " << problem;
  if (failed(planAll(methods)))
    return failure();
  return best ? decide() : reject(*obstacle);
}
