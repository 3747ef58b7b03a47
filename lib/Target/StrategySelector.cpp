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

/// What tiled must be predicted to take of the library's time. The prediction
/// was off by more than this for some of the layers in
/// benchmarks/results/auto.json, and the library is the known quantity.
static constexpr double kWorthwhileRatio = 0.9;

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

static std::string describeSchedule(ScheduleAttr schedule) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "tiles of ";
  llvm::interleave(schedule.getTile(), os, "x");
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
  fitOperands(layer, builder);
}

LogicalResult StrategySelector::checkSchedule() {
  for (const TargetSpec *target : request.targets) {
    std::string problem =
        findProblem(schedule, getTiledInputType(layer), *target);
    if (!problem.empty())
      return op->emitOpError("cannot have the schedule ")
             << schedule << " on " << target->name << ": " << problem;
  }
  return success();
}

/// For a layer that can be tiled: whether it is, and how.
LogicalResult StrategySelector::tile() {
  if (!schedule)
    schedule = request.schedule;
  if (schedule && failed(checkSchedule()))
    return failure();
  LayerProblem problem = describeProblem(layer);
  std::optional<ScheduleChoice> choice =
      schedule ? predictMmaSync(problem, schedule, request.targets)
               : chooseMmaSync(problem, request.targets);
  if (!choice)
    return reject({"no schedule runs on all of the targets",
                   "compile for fewer targets at a time"});
  bool isTiled = true;
  std::string reason = "predicted much faster on every target";
  if (written) {
    reason = "written on the layer";
  } else if (request.strategy) {
    reason = "strategy=tiled";
  } else if (const TargetSpec *target = findFasterLibrary(request.targets)) {
    isTiled = false;
    reason = ("on " + target->name +
              " the library multiplies with a faster instruction than mma.sync")
                 .str();
  } else if (choice->getWorstRatio() > kWorthwhileRatio) {
    isTiled = false;
    reason = "tiled is not predicted much faster on every target";
  }
  remark::analysis(op->getLoc(), getOptions())
      << remark::add("{0}: {1}", isTiled ? "tiled" : "library", reason)
      << remark::reason("{0}; {1}", describeSchedule(choice->schedule),
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
  if (std::optional<TiledObstacle> obstacle = findTiledObstacle(layer))
    return reject(*obstacle);
  return tile();
}
