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

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::tenon;

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

/// "wgmma fp16x3, tiles of 128x168x64 by 8 warps, clusters of 2x1, ...".
static std::string describeSchedule(const ScheduleChoice &choice) {
  ScheduleAttr schedule = choice.schedule;
  std::string text;
  llvm::raw_string_ostream os(text);
  bool isWgmma = schedule.getFamily() == KernelFamily::Wgmma;
  os << (choice.isTuned ? "tuned: " : "");
  if (schedule.getMethod() != ProductMethod::Direct)
    os << stringifyKernelFamily(schedule.getFamily()) << " "
       << stringifyProductMethod(schedule.getMethod()) << ", ";
  else if (isWgmma)
    os << "wgmma, ";
  os << "tiles of ";
  llvm::interleave(schedule.getTile(), os, "x");
  if (isWgmma)
    os << " by " << schedule.getNumWarps() << " warps";
  if (schedule.hasSwappedOperands())
    os << ", operands swapped";
  if (schedule.getPingPong())
    os << ", ping-pong";
  if (schedule.getDefer())
    os << ", deferred";
  if (schedule.getClusterBlocks() != 1)
    os << ", clusters of " << schedule.getClusterM() << "x"
       << schedule.getClusterN();
  os << ", " << schedule.getStages() << " stages, " << getSharedBytes(schedule)
     << " bytes of shared memory"
     << (schedule.getStreamK() ? ", stream-K" : "");
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
    return ReasonCode::ProductWithMoments;
  if (reduction == ReductionMethod::Resident)
    return ReasonCode::BatchNormToo;
  if (reduction == ReductionMethod::InputMoments)
    return ReasonCode::BatchNormByInputMoments;
  if (std::optional<Reason> obstacle = findEpilogueObstacle(layer))
    return Reason(ReasonCode::ProductAlone, *obstacle);
  return std::nullopt;
}

/// Says "tiled" or "library", and what decided.
static ValuedRemark &describeChoice(ValuedRemark &remark, Strategy strategy,
                                    const Reason &reason) {
  StringRef name = stringifyStrategy(strategy);
  return remark.set("strategy", name).set("choice", reason.toJSON())
         << remark::add("{0}: {1}", name, reason.getText());
}

/// Says how a layer is, or would be, tiled.
void StrategySelector::report(const Plan &plan, bool isTiled,
                              const Reason &reason) {
  ScheduleAttr schedule = plan.choice.schedule;
  ValuedRemark analysis(remark::analysis(layer->getLoc(), getOptions()));
  describeChoice(analysis, isTiled ? Strategy::Tiled : Strategy::Library,
                 reason);
  if (auto rest = describeRest(plan.problem.reduction))
    analysis << *rest;
  for (const Reason &found : reductions)
    analysis << found;
  if (!plan.wgmmaProblem.empty())
    analysis << Reason(ReasonCode::MmaSyncSince, plan.wgmmaProblem);
  analysis.say(describeSchedule(plan.choice))
      .say(describeTimes(plan.choice, plan.problem));
  analysis.set("family", stringifyKernelFamily(schedule.getFamily()))
      .set("method", stringifyProductMethod(schedule.getMethod()))
      .set("shared_bytes", getSharedBytes(schedule))
      .set("predictions", toJSON(plan.choice.predictions));
  if (plan.problem.hasNorm)
    analysis.set("reduction",
                 stringifyReductionMethod(schedule.getReduction()));
  if (!isTiled)
    return;
  SmallVector<KernelKind> kernels = listKernels(layer, schedule);
  if (schedule.isSplit() &&
      !findFitting(layer.getX(), layer, schedule.getMethod()))
    kernels.insert(kernels.begin(), KernelKind::Split);
  analysis << ArrayRef(kernels);
}

//===----------------------------------------------------------------------===//
// The decision
//===----------------------------------------------------------------------===//

void StrategySelector::setLibrary() { layer.setStrategy(Strategy::Library); }

void StrategySelector::setTiled(const ScheduleChoice &choice) {
  layer.setStrategy(Strategy::Tiled);
  layer.setScheduleAttr(choice.schedule);
  OpBuilder builder(layer.getContext());
  fitOperands(layer, choice.schedule, builder);
}

/// Whether `auto` tiles the layer, and why.
std::pair<bool, Reason> StrategySelector::weigh(const Plan &plan) {
  const auto &[problem, choice, wgmmaProblem] = plan;
  if (problem.method == ProductMethod::FMA)
    return {false, ReasonCode::FmaIsNoFaster};
  if (libraryErrsLess(problem))
    return {false, ReasonCode::LibraryErrsLess};
  double limit = getLimit(problem, choice);
  bool isTiled = choice.getWorstRatio() <= limit;
  if (choice.schedule.getFamily() == KernelFamily::Wgmma)
    return {
        isTiled,
        {isTiled ? ReasonCode::PredictedWithin : ReasonCode::NotPredictedWithin,
         limit}};
  if (const TargetSpec *target = findFasterLibrary(problem, request.targets))
    return {false, {ReasonCode::LibraryHasFasterInstruction, target->name}};
  return {isTiled, isTiled ? ReasonCode::PredictedMuchFaster
                           : ReasonCode::NotPredictedMuchFaster};
}

/// For a layer that can be tiled: whether it is.
LogicalResult StrategySelector::decide() {
  auto [isTiled, reason] =
      written ? std::pair(true, Reason(ReasonCode::WrittenOnLayer))
      : request.strategy
          ? std::pair(true, Reason(ReasonCode::AskedFor, "tiled"))
          : weigh(*best);
  report(*best, isTiled, reason);
  if (isTiled)
    setTiled(best->choice);
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
  describeChoice(missed, Strategy::Library, ReasonCode::CannotBeTiled)
      << reason;
  setLibrary();
  return success();
}

LogicalResult StrategySelector::run() {
  if (written == Strategy::Library && schedule)
    return layer->emitOpError("has a schedule, but the strategy library takes "
                              "none; write #tenon.strategy<tiled>, or remove "
                              "'schedule'");
  if (written.value_or(request.strategy.value_or(Strategy::Tiled)) ==
      Strategy::Library) {
    ValuedRemark analysis(remark::analysis(layer->getLoc(), getOptions()));
    describeChoice(analysis, Strategy::Library,
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
  // The schedule of all layers may be for others than this one.
  std::string problem = findPrecisionProblem(
      methods[0], layer.getInputType(), layer.getPrecision(), layer.getK());
  if (problem.empty() && schedule)
    problem = findReductionProblem(layer, schedule);
  if (isGiven && !problem.empty())
    return reject({ReasonCode::ScheduleDoesNotFit, problem});
  if (!problem.empty())
    return layer->emitOpError("cannot have the schedule ")
           << schedule << ": " << problem;
  if (failed(planAll(methods)))
    return failure();
  return best ? decide() : reject(*obstacle);
}
