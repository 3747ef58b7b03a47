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

#include "StrategySelector.h"

#include "tenon/Target/Passes.h"

#include "mlir/AsmParser/AsmParser.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::tenon {
#define GEN_PASS_DEF_TENONSELECTSTRATEGY
#include "tenon/Target/Passes.h.inc"
} // namespace mlir::tenon

using namespace mlir;
using namespace mlir::tenon;

namespace {
struct SelectStrategy : tenon::impl::TenonSelectStrategyBase<SelectStrategy> {
  using Base::Base;

  void runOnOperation() override {
    if (targets.empty())
      return;
    StrategyRequest request;
    if (failed(parseRequest(request)))
      return signalPassFailure();
    SmallVector<Layer> layers;
    getOperation()->walk([&](Operation *op) {
      llvm::TypeSwitch<Operation *>(op).Case<LinearOp, FusedLinearOp>(
          [&](auto layer) { layers.emplace_back(layer); });
    });
    for (const Layer &layer : layers)
      if (failed(StrategySelector(layer, request).run()))
        signalPassFailure();
  }

private:
  LogicalResult parseRequest(StrategyRequest &request);
};
} // namespace

LogicalResult SelectStrategy::parseRequest(StrategyRequest &request) {
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
  if (reduction != "auto") {
    request.reduction = symbolizeReductionMethod(reduction);
    if (!request.reduction)
      return emitError(loc) << "'" << reduction.getValue()
                            << "' is not a reduction; expected auto, separate, "
                               "two_phase, resident or input_moments";
  }
  if (request.reduction && request.strategy == Strategy::Library)
    return emitError(loc, "strategy=library leaves no layer that could have "
                          "the reduction; leave one of the two out");
  if (schedule.empty())
    return success();
  if (request.reduction)
    return emitError(loc, "a schedule says itself how it reduces; leave the "
                          "option reduction out, and write reduction = ... in "
                          "the schedule");
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
