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

#include "FamilyChoice.h"
#include "FitOperands.h"
#include "StrategyRemarks.h"

#include "tenon/Schedule/Checks/EpilogueObstacle.h"
#include "tenon/Schedule/Checks/LayerKernels.h"
#include "tenon/Schedule/Checks/ProductMethod.h"
#include "tenon/Schedule/Checks/ReductionMethod.h"

#include "tenon/Dialect/Tenon/IR/NarrowFloats.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Support/DebugStringHelper.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::tenon;
using llvm::formatv;

StrategySelector::StrategySelector(LinearLikeOp layer,
                                   const StrategyRequest &request)
    : layer(layer), request(request), written(layer.getStrategy()),
      schedule(layer.getScheduleAttr()) {
  if (!written && schedule)
    written = Strategy::Tiled;
}

//===----------------------------------------------------------------------===//
// Remarks
//===----------------------------------------------------------------------===//

remark::RemarkOpts StrategySelector::getOptions() {
  auto function = layer->getParentOfType<FunctionOpInterface>();
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

/// The same as numbers.
static llvm::json::Value toJSON(ArrayRef<Prediction> predictions) {
  llvm::json::Array array;
  for (const Prediction &prediction : predictions)
    array.push_back(llvm::json::Object{{"target", prediction.target->name},
                                       {"waves", prediction.waves},
                                       {"seconds", prediction.seconds},
                                       {"library", prediction.library}});
  return array;
}

/// What a tiled kernel leaves of the layer to others, and what it does of a
/// batch norm, if there is either.
std::optional<Reason>
StrategySelector::describeRest(ReductionMethod reduction) {
  if (reduction == ReductionMethod::TwoPhase)
    return sumsBatch(layer) ? ReasonCode::ProductWithSums
                            : ReasonCode::ProductWithMoments;
  if (reduction == ReductionMethod::Resident)
    return ReasonCode::BatchNormToo;
  if (reduction == ReductionMethod::InputMoments)
    return ReasonCode::BatchNormByInputMoments;
  if (reduction == ReductionMethod::InTile)
    return ReasonCode::RowsInTile;
  if (reduction == ReductionMethod::ReduceOnly)
    return ReasonCode::RowsByParts;
  if (reduction == ReductionMethod::ResidentRows)
    return ReasonCode::RowsExchanged;
  if (std::optional<Reason> obstacle = findEpilogueObstacle(layer))
    return Reason(ReasonCode::ProductAlone, *obstacle);
  return std::nullopt;
}

/// Says how a layer is, or would be, tiled.
void StrategySelector::report(const LayerPlanner &planner,
                              const Verdict &verdict) {
  const LayerPlan &plan = *planner.best;
  ScheduleAttr schedule = plan.choice.schedule;
  ValuedRemark analysis(remark::analysis(layer->getLoc(), getOptions()));
  sayStrategy(analysis, verdict.isTiled ? Strategy::Tiled : Strategy::Library,
              verdict.reason);
  if (auto rest = describeRest(plan.problem.reduction))
    analysis << *rest;
  for (const Reason &found : planner.reductions)
    analysis << found;
  if (!plan.betterProblem.empty())
    analysis << Reason(ReasonCode::FamilySince,
                       stringifyKernelFamily(schedule.getFamily()),
                       plan.betterProblem);
  saySchedule(analysis, plan.choice)
      .say(describeTimes(plan.choice, plan.problem))
      .set("shared_bytes", getSharedBytes(schedule))
      .set("predictions", toJSON(plan.choice.predictions));
  if (plan.problem.hasNorm || reducesRows(layer))
    analysis.set("reduction",
                 stringifyReductionMethod(schedule.getReduction()));
  if (!verdict.isTiled)
    return;
  SmallVector<KernelKind> kernels = listKernels(layer, schedule);
  if (schedule.isSplit() &&
      !findFitting(layer.getX(), isXTransposed(layer.getLayout()), layer,
                   schedule.getMethod()))
    kernels.insert(kernels.begin(), KernelKind::Split);
  analysis << ArrayRef(kernels);
}

//===----------------------------------------------------------------------===//
// The decision
//===----------------------------------------------------------------------===//

void StrategySelector::setLibrary() {
  layer.setStrategy(Strategy::Library);
  if (!libraryMultipliesBytes())
    widenOperands(layer);
}

void StrategySelector::setTiled(const ScheduleChoice &choice) {
  layer.setStrategy(Strategy::Tiled);
  layer.setScheduleAttr(choice.schedule);
  OpBuilder builder(layer.getContext());
  fitOperands(layer, choice.schedule, builder);
}

/// Whether cuBLAS computes a product of tf32 as one of f32, and errs less than
/// a tiled kernel would: it does so for one row.
static bool libraryErrsLess(const LayerProblem &problem) {
  return problem.m == 1 && !problem.isFp32 && problem.libraryType.isF32();
}

/// Whether `auto` tiles the layer, and why.
Verdict StrategySelector::weigh(const LayerPlan &plan) {
  const auto &[problem, choice, betterProblem] = plan;
  if (!getTraits(problem.method).usesTensorCores)
    return {false, ReasonCode::FmaIsNoFaster};
  if (problem.method == ProductMethod::FP8) {
    if (problem.hasBlockScales)
      return {true, ReasonCode::LibraryScalesNoBlocks};
    if (!libraryMultipliesBytes())
      return {true, ReasonCode::LibraryMultipliesF16};
    // No kernel of mma.sync was measured.
    if (choice.schedule.getFamily() == KernelFamily::MmaSync)
      return {false, ReasonCode::LibraryMultipliesBytes};
    return {true, ReasonCode::TiledTakesEpilogue};
  }
  if (libraryErrsLess(problem))
    return {false, ReasonCode::LibraryErrsLess};
  return ScheduleFamily::of(choice.schedule)
      .weigh(problem, choice, request.targets);
}

/// For a layer that can be tiled: whether it is.
LogicalResult StrategySelector::decide(const LayerPlanner &planner) {
  Verdict verdict{true, ReasonCode::WrittenOnLayer};
  if (!written && request.strategy)
    verdict.reason = Reason(ReasonCode::AskedFor, "tiled");
  else if (!written)
    verdict = weigh(*planner.best);
  report(planner, verdict);
  if (verdict.isTiled)
    setTiled(planner.best->choice);
  else
    setLibrary();
  return success();
}

/// For a layer that cannot be tiled.
LogicalResult StrategySelector::reject(const Reason &reason) {
  if (written) {
    std::string remedy = reason.getSuggestion().str();
    if (!remedy.empty())
      remedy += ", or ";
    return layer->emitOpError("cannot be tiled: ")
           << reason.getText() << "; " << remedy
           << "write #tenon.strategy<library>";
  }
  ValuedRemark missed(remark::missed(layer->getLoc(), getOptions()));
  sayStrategy(missed, Strategy::Library, ReasonCode::CannotBeTiled) << reason;
  setLibrary();
  return success();
}

SmallVector<double> StrategySelector::predictSeconds() {
  LayerPlanner planner(layer, request, schedule);
  if (failed(planner.run(listMethods(layer))) || !planner.best)
    return {};
  const LayerPlan &best = *planner.best;
  bool isTiled = request.strategy || weigh(best).isTiled;
  SmallVector<double> seconds;
  for (const Prediction &prediction : best.choice.predictions)
    seconds.push_back(isTiled ? prediction.seconds : prediction.library);
  return seconds;
}

SmallVector<double> tenon::predictApart(ArrayRef<LinearLikeOp> layers,
                                        const StrategyRequest &request) {
  SmallVector<double> apart(request.targets.size());
  for (LinearLikeOp layer : layers)
    for (auto [sum, seconds] :
         llvm::zip(apart, StrategySelector(layer, request).predictSeconds()))
      sum += seconds;
  return apart;
}

/// Whether a kernel of all targets multiplies the 8 bits of x and w.
bool StrategySelector::mayMultiplyBytes() {
  LayerProblem problem =
      describeProblem(layer, ProductMethod::FP8, ReductionMethod::Separate);
  return !findLayoutProblem(ProductMethod::FP8, problem.tiledType,
                            layer.getLayout()) &&
         chooseFamily(problem, request.targets).family;
}

bool StrategySelector::libraryMultipliesBytes() {
  return isNarrowFloat(getLibraryInputType(layer)) &&
         llvm::all_of(request.targets, [](const TargetSpec *target) {
           return target->libraryRate.bits8 != 0;
         });
}

/// Of 8 bits that nothing multiplies on all targets, f16 are multiplied.
void StrategySelector::widenIfNeeded() {
  if (!isNarrowFloat(layer.getInputType()) || schedule || mayMultiplyBytes())
    return;
  if (written.value_or(request.strategy.value_or(Strategy::Library)) ==
          Strategy::Library &&
      libraryMultipliesBytes())
    return;
  ValuedRemark(remark::missed(layer->getLoc(), getOptions())) << Reason(
      ReasonCode::WidenedToF16, mlir::debugString(layer.getInputType()));
  widenOperands(layer);
}

/// Why a layer alone cannot have a schedule of several.
static std::string findJoinedProblem(ScheduleAttr schedule) {
  if (schedule.getWeights() != 1)
    return "weights = 2 is for two layers that read one x, of which one has "
           "the other's result as an operand of its epilogue, both with this "
           "schedule";
  if (schedule.getTerms() != 1)
    return formatv("terms = {0} is for {0} layers of which each has the result "
                   "of the one before it added to its product, all with this "
                   "schedule",
                   schedule.getTerms());
  if (schedule.getSiblings() != 1)
    return formatv("siblings = {0} is for {0} layers that read one x, need no "
                   "result of each other and can be tiled, all with this "
                   "schedule",
                   schedule.getSiblings());
  return "";
}

LogicalResult StrategySelector::run() {
  widenIfNeeded();
  if (written == Strategy::Library && schedule)
    return layer->emitOpError("has a schedule, but the strategy library takes "
                              "none; write #tenon.strategy<tiled>, or remove "
                              "'schedule'");
  if (written.value_or(request.strategy.value_or(Strategy::Tiled)) ==
      Strategy::Library) {
    ValuedRemark analysis(remark::analysis(layer->getLoc(), getOptions()));
    sayStrategy(analysis, Strategy::Library,
                written ? Reason(ReasonCode::WrittenOnLayer)
                        : Reason(ReasonCode::AskedFor, "library"));
    setLibrary();
    return success();
  }
  bool isGiven = !schedule && request.schedule;
  if (isGiven)
    schedule = request.schedule;
  SmallVector<ProductMethod> methods = listMethods(layer);
  if (schedule)
    methods = {schedule.getMethod()};
  else if (findScaledOperands(layer) && mayMultiplyBytes())
    methods = {ProductMethod::FP8};
  // The schedule of all layers may be for others than this one.
  std::string problem =
      findPrecisionProblem(methods[0], getMultipliedType(layer, methods[0]),
                           layer.getPrecision(), layer.getK());
  if (problem.empty() && schedule)
    problem = findReductionProblem(layer, schedule);
  if (problem.empty() && schedule)
    problem = findJoinedProblem(schedule);
  if (isGiven && !problem.empty())
    return reject({ReasonCode::ScheduleDoesNotFit, problem});
  if (!problem.empty())
    return layer->emitOpError("cannot have the schedule ")
           << schedule << ": " << problem;
  LayerPlanner planner(layer, request, schedule);
  if (failed(planner.run(methods)))
    return failure();
  return planner.best ? decide(planner) : reject(*planner.obstacle);
}
