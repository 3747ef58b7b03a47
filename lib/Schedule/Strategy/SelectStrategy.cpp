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

#include "PairSelector.h"
#include "SiblingSelector.h"
#include "SumSelector.h"

#include "tenon/Schedule/Passes.h"
#include "tenon/Schedule/Strategy/StrategyOptions.h"

namespace mlir::tenon {
#define GEN_PASS_DEF_TENONSELECTSTRATEGY
#include "tenon/Schedule/Passes.h.inc"
} // namespace mlir::tenon

using namespace mlir;
using namespace mlir::tenon;

/// Decides whether `layer` and the one that gives an operand of its epilogue
/// have one kernel; `paired` are layers that have one with another.
static LogicalResult selectPair(LinearLikeOp layer,
                                const StrategyRequest &request,
                                DenseSet<Operation *> &paired) {
  LayerPair pair = findPair(layer);
  if (!pair || paired.contains(pair.gate))
    return success();
  FailureOr<bool> isPair = PairSelector(pair, request).run();
  if (failed(isPair) || *isPair) {
    paired.insert(pair.gate);
    paired.insert(pair.layer);
  }
  return isPair;
}

/// Decides whether `layer` and those whose results it adds to its product have
/// one kernel; `taken` are layers that have one with another.
static LogicalResult selectSum(LinearLikeOp layer,
                               const StrategyRequest &request,
                               DenseSet<Operation *> &taken) {
  auto isTaken = [&](LinearLikeOp op) { return taken.contains(op); };
  if (!findAddedLayer(layer) || isTaken(layer))
    return success();
  LayerSum sum = findSum(layer);
  if (!sum) // the selector says why
    sum.layers = {findAddedLayer(layer), layer};
  if (llvm::any_of(sum.layers, isTaken))
    return success();
  FailureOr<bool> isOne = SumSelector(sum, request).run();
  if (failed(isOne) || *isOne)
    taken.insert(sum.layers.begin(), sum.layers.end());
  return isOne;
}

/// Decides whether `layer` and those behind it that read its x have one launch;
/// `taken` are layers that have one with another.
static LogicalResult selectSiblings(LinearLikeOp layer,
                                    const StrategyRequest &request,
                                    DenseSet<Operation *> &taken) {
  if (taken.contains(layer))
    return success();
  SmallVector<LinearLikeOp> siblings =
      SiblingSelector::findSiblings(layer, request, taken);
  if (siblings.size() == 1)
    return success();
  FailureOr<bool> isOne = SiblingSelector(siblings, request).run();
  if (failed(isOne) || *isOne)
    taken.insert(siblings.begin(), siblings.end());
  return isOne;
}

namespace {
struct SelectStrategy : tenon::impl::TenonSelectStrategyBase<SelectStrategy> {
  using Base::Base;

  void runOnOperation() override {
    if (targets.empty())
      return;
    StrategyRequest request;
    if (failed(parseRequest(request)))
      return signalPassFailure();
    SmallVector<LinearLikeOp> layers;
    getOperation()->walk([&](LinearLikeOp layer) { layers.push_back(layer); });
    bool anyFailed = false;
    DenseSet<Operation *> decided;
    for (LinearLikeOp layer : layers)
      anyFailed |= failed(selectPair(layer, request, decided));
    for (LinearLikeOp layer : llvm::reverse(layers))
      anyFailed |= failed(selectSum(layer, request, decided));
    for (LinearLikeOp layer : layers)
      anyFailed |= failed(selectSiblings(layer, request, decided));
    for (LinearLikeOp layer : layers)
      if (!decided.contains(layer))
        anyFailed |= failed(StrategySelector(layer, request).run());
    if (anyFailed) // An error has said what is wrong with what was asked for.
      return signalPassFailure();
    warnOfNoUse(request, layers);
  }

private:
  LogicalResult parseRequest(StrategyRequest &request);
  void warnOfNoUse(const StrategyRequest &request,
                   ArrayRef<LinearLikeOp> layers);
};
} // namespace

/// Warns of what is asked for and no layer has.
void SelectStrategy::warnOfNoUse(const StrategyRequest &request,
                                 ArrayRef<LinearLikeOp> layers) {
  auto anyHas = [&](auto isAsked) {
    return llvm::any_of(layers, [&](LinearLikeOp layer) {
      ScheduleAttr schedule = layer.getScheduleAttr();
      return schedule && isAsked(schedule);
    });
  };
  constexpr StringLiteral kWhy = " is of no use: no layer has it; remarks of "
                                 "tenon-select-strategy say why";
  if (request.schedule && !anyHas([&](ScheduleAttr schedule) {
        return schedule == request.schedule;
      }))
    emitWarning(getOperation().getLoc())
        << "schedule=" << schedule.getValue() << kWhy;
  // A layer without a reduction is as separate as can be.
  if (request.reduction && request.reduction != ReductionMethod::Separate &&
      !anyHas([&](ScheduleAttr schedule) {
        return schedule.getReduction() == *request.reduction;
      }))
    emitWarning(getOperation().getLoc())
        << "reduction=" << reduction.getValue() << kWhy;
}

LogicalResult SelectStrategy::parseRequest(StrategyRequest &request) {
  Location loc = getOperation().getLoc();
  auto known = lookupTargets(targets, loc);
  if (failed(known))
    return failure();
  request.targets = std::move(*known);
  std::string problem =
      findStrategyProblem(strategy, schedule, reduction, pairs, siblings);
  if (!problem.empty())
    return emitError(loc) << problem;
  request.strategy = symbolizeStrategy(strategy); // none: auto
  request.reduction = symbolizeReductionMethod(reduction);
  if (pairs != "auto")
    request.pairs = pairs == "always";
  if (siblings != "auto")
    request.siblings = siblings == "always";
  assert((request.strategy || strategy == "auto") &&
         (request.reduction || reduction == "auto") &&
         "CompileOptions.def has a value that the dialect has not");
  if (!schedule.empty())
    request.schedule = parseSchedule(schedule, &getContext());
  return success();
}
