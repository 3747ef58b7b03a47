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

/// What tiled must be predicted to take of the library's time, for mma_sync.
/// The prediction was off by more than this for some of the layers in
/// benchmarks/results/auto.json, and the library is the known quantity.
static constexpr double kMmaSyncRatio = 0.9;
/// The same for wgmma where the library needs an epilogue kernel, and where its
/// own epilogue does all.
static constexpr double kWgmmaRatio = 1.0, kWgmmaBareRatio = 0.95;
/// The same for so few rows that reading w is all: the prediction was too low
/// by up to 2 there (benchmarks/results/sm90a_sweep.json).
static constexpr double kFewRowsRatio = 0.5;
static constexpr int64_t kFewRows = 64;

/// Whether kernels of precision fp32 were measured on a GPU. Until then auto
/// leaves such layers to the library.
static constexpr bool kIsFp32Measured = false;

/// A target on which cuBLAS has a faster instruction than mma.sync; null if
/// there is none. In bursts on an H200 (benchmarks/results/auto.json) no layer
/// was faster tiled, whatever was predicted.
static const TargetSpec *
findFasterLibrary(ArrayRef<const TargetSpec *> targets) {
  auto *found = llvm::find_if(targets, [](const TargetSpec *target) {
    return target->libraryRate.bits16 > target->mmaSyncRate.bits16;
  });
  return found == targets.end() ? nullptr : *found;
}

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

/// "M = 1024, sm_80: 0.59 waves, 103.2 us tiled, 117.0 us by the library".
static std::string describeTimes(const ScheduleChoice &choice,
                                 const LayerProblem &problem) {
  std::string text = llvm::formatv("M = {0}", problem.m);
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
    os << " by " << schedule.getWarps()[0] << " warps";
  if (schedule.getPingPong())
    os << ", ping-pong";
  if (schedule.getClusterBlocks() != 1)
    os << ", clusters of " << schedule.getClusterM() << "x"
       << schedule.getClusterN();
  os << ", " << schedule.getStages() << " stages, " << getSharedBytes(schedule)
     << " bytes of shared memory"
     << (schedule.getStreamK() ? ", stream-K" : "");
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

LogicalResult
StrategySelector::checkSchedule(const LayerProblem &layerProblem) {
  Type type = layerProblem.tiledType;
  for (const TargetSpec *target : request.targets) {
    std::string problem = findProblem(schedule, type, *target);
    if (!problem.empty())
      return op->emitOpError("cannot have the schedule ")
             << schedule << " on " << target->name << ": " << problem;
  }
  std::string problem = findExtentProblem(schedule.getFamily(), type,
                                          layerProblem.getTiledColumns());
  if (problem.empty())
    return success();
  return op->emitOpError("cannot have the schedule ")
         << schedule << ": " << problem << ", or take a mma_sync schedule";
}

/// The schedule that is asked for, or the best one; nothing if none runs on all
/// targets.
std::optional<ScheduleChoice>
StrategySelector::choose(const LayerProblem &problem) {
  if (schedule)
    return predictSchedule(problem, schedule, request.targets);
  if (problem.method != ProductMethod::FMA &&
      llvm::all_of(request.targets,
                   [](const TargetSpec *target) { return target->hasWgmma; })) {
    wgmmaProblem = findExtentProblem(KernelFamily::Wgmma, problem.tiledType,
                                     problem.getTiledColumns());
    if (wgmmaProblem.empty())
      return chooseWgmma(problem, request.targets, getSm90TunedSchedules());
  }
  return chooseMmaSync(problem, request.targets);
}

/// Whether `auto` tiles the layer, and why.
std::pair<bool, std::string>
StrategySelector::weigh(const LayerProblem &problem,
                        const ScheduleChoice &choice) {
  double ratio = choice.getWorstRatio();
  if (problem.isFp32 && !kIsFp32Measured)
    return {false, llvm::formatv(
                       "fp32 tiled, predicted to take {0:F2} of the library's "
                       "time, was not measured yet; strategy=tiled takes it",
                       ratio)
                       .str()};
  if (problem.method == ProductMethod::FMA)
    return {false, "fused multiply-adds are no faster than the library's"};
  if (choice.schedule.getFamily() == KernelFamily::Wgmma) {
    double limit = problem.libraryDoesAll ? kWgmmaBareRatio : kWgmmaRatio;
    if (problem.m < kFewRows && !choice.isTuned)
      limit = kFewRowsRatio;
    bool isTiled = ratio <= limit;
    return {isTiled,
            llvm::formatv("tiled is {0}predicted to take at most {1:F2} of the "
                          "library's time",
                          isTiled ? "" : "not ", limit)
                .str()};
  }
  if (const TargetSpec *target = findFasterLibrary(request.targets))
    return {false, ("on " + target->name +
                    " the library multiplies with a faster instruction than "
                    "mma.sync")
                       .str()};
  if (ratio > kMmaSyncRatio)
    return {false, "tiled is not predicted much faster on every target"};
  return {true, "predicted much faster on every target"};
}

/// What a tiled kernel leaves of the layer to others; "" if nothing.
std::string StrategySelector::describeRest() {
  std::optional<TiledObstacle> obstacle = findEpilogueObstacle(layer);
  if (!obstacle)
    return "";
  return "the product alone, since " + obstacle->reason + "; ";
}

/// For a layer that can be tiled: whether it is, and how.
LogicalResult StrategySelector::tile(ProductMethod method) {
  LayerProblem problem = describeProblem(layer, method);
  if (schedule && failed(checkSchedule(problem)))
    return failure();
  std::optional<ScheduleChoice> choice = choose(problem);
  if (!choice)
    return reject({"no schedule runs on all of the targets",
                   "compile for fewer targets at a time"});
  bool isTiled = true;
  std::string reason = "written on the layer";
  if (!written && request.strategy)
    reason = "strategy=tiled";
  else if (!written)
    std::tie(isTiled, reason) = weigh(problem, *choice);
  std::string noWgmma =
      wgmmaProblem.empty() ? "" : "mma_sync, since " + wgmmaProblem + "; ";
  remark::analysis(op->getLoc(), getOptions())
      << remark::add("{0}: {1}", isTiled ? "tiled" : "library", reason)
      << remark::reason("{0}{1}{2}; {3}", noWgmma, describeRest(),
                        describeSchedule(*choice),
                        describeTimes(*choice, problem));
  if (isTiled)
    setTiled(*choice);
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
  ProductMethod method = schedule ? schedule.getMethod() : chooseMethod(layer);
  if (std::optional<TiledObstacle> obstacle = findTiledObstacle(layer, method))
    return reject(*obstacle);
  // The schedule of all layers may be for others than this one.
  std::string problem = findPrecisionProblem(method, layer.getInputType(),
                                             layer.precision, layer.getK());
  if (isGiven && !problem.empty())
    return reject({problem, "write a schedule of its own on the layer"});
  if (!problem.empty())
    return op->emitOpError("cannot have the schedule ")
           << schedule << ": " << problem;
  return tile(method);
}
