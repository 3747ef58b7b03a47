//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// --tenon-select-strategy: chooses how each linear layer is computed.
//
//===----------------------------------------------------------------------===//

#include "Layer.h"

#include "tenon/Target/Passes.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::tenon {
#define GEN_PASS_DEF_TENONSELECTSTRATEGY
#include "tenon/Target/Passes.h.inc"
} // namespace mlir::tenon

using namespace mlir;
using namespace mlir::tenon;

namespace {
/// The pass's options, parsed.
struct Request {
  SmallVector<const TargetSpec *> targets;
  std::optional<Strategy> strategy; ///< none: auto
  ScheduleAttr schedule;            ///< null: one is chosen for each layer
};

/// Decides about one layer, and says why.
class Selector {
public:
  Selector(const Layer &layer, const Request &request)
      : layer(layer), op(layer.op), request(request),
        schedule(op->getAttrOfType<ScheduleAttr>(TenonDialect::kScheduleAttr)) {
    if (auto attribute =
            op->getAttrOfType<StrategyAttr>(TenonDialect::kStrategyAttr))
      written = attribute.getValue();
    else if (schedule)
      written = Strategy::Tiled;
  }

  LogicalResult run();

private:
  LogicalResult tile();
  LogicalResult reject(const TiledObstacle &obstacle);
  LogicalResult checkSchedule();
  void setLibrary();
  void setTiled(const ScheduleChoice &choice);
  remark::RemarkOpts getOptions();

  const Layer &layer;
  Operation *op;
  const Request &request;
  /// What is written on the layer, and its schedule or the request's.
  std::optional<Strategy> written;
  ScheduleAttr schedule;
};
} // namespace

//===----------------------------------------------------------------------===//
// Remarks
//===----------------------------------------------------------------------===//

remark::RemarkOpts Selector::getOptions() {
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

void Selector::setLibrary() {
  op->setAttr(TenonDialect::kStrategyAttr,
              StrategyAttr::get(op->getContext(), Strategy::Library));
}

void Selector::setTiled(const ScheduleChoice &choice) {
  op->setAttr(TenonDialect::kStrategyAttr,
              StrategyAttr::get(op->getContext(), Strategy::Tiled));
  op->setAttr(TenonDialect::kScheduleAttr, choice.schedule);
  OpBuilder builder(op->getContext());
  fitOperands(layer, builder);
}

LogicalResult Selector::checkSchedule() {
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
LogicalResult Selector::tile() {
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
  bool isForced = written || request.strategy;
  bool isTiled = isForced || choice->getWorstRatio() < 1;
  StringRef reason = written            ? "written on the layer"
                     : request.strategy ? "strategy=tiled"
                     : isTiled
                         ? "predicted faster on every target"
                         : "tiled is not predicted faster on every target";
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
LogicalResult Selector::reject(const TiledObstacle &obstacle) {
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

LogicalResult Selector::run() {
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

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct SelectStrategy : tenon::impl::TenonSelectStrategyBase<SelectStrategy> {
  using Base::Base;

  void runOnOperation() override {
    if (targets.empty())
      return;
    Request request;
    if (failed(parseRequest(request)))
      return signalPassFailure();
    SmallVector<Layer> layers;
    getOperation()->walk([&](Operation *op) {
      llvm::TypeSwitch<Operation *>(op).Case<LinearOp, FusedLinearOp>(
          [&](auto layer) { layers.emplace_back(layer); });
    });
    for (const Layer &layer : layers)
      if (failed(Selector(layer, request).run()))
        signalPassFailure();
  }

private:
  LogicalResult parseRequest(Request &request);
};
} // namespace

LogicalResult SelectStrategy::parseRequest(Request &request) {
  Location loc = getOperation().getLoc();
  for (const std::string &name : targets) {
    request.targets.push_back(lookupTarget(name));
    if (!request.targets.back())
      return emitError(loc)
             << "'" << name << "' is not a target; known are " << listTargets();
  }
  if (strategy != "auto") {
    request.strategy = symbolizeStrategy(strategy);
    if (!request.strategy)
      return emitError(loc) << "'" << strategy.getValue()
                            << "' is not a strategy; expected auto, library or "
                               "tiled";
  }
  if (schedule.empty())
    return success();
  if (request.strategy == Strategy::Library)
    return emitError(loc,
                     "strategy=library leaves no layer that could take the "
                     "schedule; leave one of the two out");
  // What the parser finds is told once, with the text.
  std::string problem;
  {
    ScopedDiagnosticHandler handler(
        &getContext(), [&](Diagnostic &found) { problem = found.str(); });
    request.schedule = dyn_cast_or_null<ScheduleAttr>(parseAttribute(
        "#tenon.schedule<" + schedule.getValue() + ">", &getContext()));
  }
  if (request.schedule)
    return success();
  return emitError(loc) << "'" << schedule.getValue()
                        << "' is not what stands in #tenon.schedule<...>: "
                        << problem;
}
