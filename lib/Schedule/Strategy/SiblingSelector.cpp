//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Decides whether several layers of one x have one launch, and says why.
//
//===----------------------------------------------------------------------===//

#include "SiblingSelector.h"

#include "FamilyChoice.h"
#include "FitOperands.h"
#include "StrategyRemarks.h"

#include "tenon/Schedule/Checks/EpilogueObstacle.h"
#include "tenon/Schedule/Checks/LayerKernels.h"
#include "tenon/Schedule/Checks/ProductMethod.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mlir::tenon;

//===----------------------------------------------------------------------===//
// Which layers
//===----------------------------------------------------------------------===//

/// The schedule for several layers that is written on one, or asked for; null
/// if it is none.
static ScheduleAttr getGivenSchedule(LinearLikeOp layer,
                                     const StrategyRequest &request) {
  ScheduleAttr schedule = layer.getScheduleAttr();
  if (!schedule)
    schedule = request.schedule;
  return schedule && schedule.getSiblings() != 1 ? schedule : ScheduleAttr();
}

/// More were not measured: the more rows, the less launches and half-empty
/// waves weigh. And what one launch gains must be clear, since its kernel gives
/// up clusters and persistent blocks: of q, k and v of 8 rows it is half.
static constexpr int64_t kMostRows = 256;
static constexpr double kClearlyLess = 0.9;

static bool isOfFewRows(LinearLikeOp layer) {
  int64_t m = layer.getExtents().m;
  return !ShapedType::isDynamic(m) && m <= kMostRows;
}

/// Whether a launch may have the layer beside others.
static bool mayBeSibling(LinearLikeOp layer, const StrategyRequest &request) {
  if (layer.getLayout() || hasBatchNorm(layer) || sumsBatch(layer) ||
      reducesRows(layer))
    return false;
  if (getGivenSchedule(layer, request))
    return layer.getStrategy() != Strategy::Library;
  if (!request.siblings.value_or(isOfFewRows(layer)))
    return false;
  // Tiles are chosen for rows of results that TMA can store.
  return layer.getExtents().n % 8 == 0 &&
         request.strategy != Strategy::Library && !request.schedule &&
         !layer.getStrategy() && !layer.getScheduleAttr();
}

static bool areAlike(LinearLikeOp a, LinearLikeOp b,
                     const StrategyRequest &request) {
  return a.getX() == b.getX() && a.getInputType() == b.getInputType() &&
         a.getPrecision() == b.getPrecision() &&
         getGivenSchedule(a, request) == getGivenSchedule(b, request);
}

/// Tensor maps of a layer's kernel but for x, at most.
static int64_t countMaps(LinearLikeOp layer) {
  auto isMatrix = [](Type type) {
    return cast<RankedTensorType>(type).getRank() == 2;
  };
  return 1 + llvm::count_if(layer.getEpilogueInputs().getTypes(), isMatrix) +
         llvm::count_if(layer->getResultTypes(), isMatrix);
}

/// Whether an op reads a result of one of `ops`.
static bool readsAny(Operation *op, const DenseSet<Operation *> &ops) {
  return op
      ->walk([&](Operation *inner) {
        bool reads = llvm::any_of(inner->getOperands(), [&](Value operand) {
          return ops.contains(operand.getDefiningOp());
        });
        return reads ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

SmallVector<LinearLikeOp>
SiblingSelector::findSiblings(LinearLikeOp first,
                              const StrategyRequest &request,
                              const DenseSet<Operation *> &taken) {
  SmallVector<LinearLikeOp> found{first};
  if (!mayBeSibling(first, request))
    return found;
  ScheduleAttr given = getGivenSchedule(first, request);
  int64_t most = given ? given.getSiblings() : kMaxSiblings;
  int64_t maps = 1 + countMaps(first);
  DenseSet<Operation *> behind{first}; // what needs a result of those found
  for (Operation *op = first->getNextNode(); op && std::ssize(found) < most;
       op = op->getNextNode()) {
    if (readsAny(op, behind)) {
      behind.insert(op);
      continue;
    }
    auto layer = dyn_cast<LinearLikeOp>(op);
    if (!layer || taken.contains(op) || !mayBeSibling(layer, request) ||
        !areAlike(first, layer, request) ||
        maps + countMaps(layer) > kMaxSiblingMaps)
      continue;
    maps += countMaps(layer);
    found.push_back(layer);
    behind.insert(op);
  }
  return found;
}

//===----------------------------------------------------------------------===//
// The decision
//===----------------------------------------------------------------------===//

/// Whether the targets can take the schedule that is written or asked for.
LogicalResult SiblingSelector::checkSchedule(ScheduleAttr schedule) {
  LinearLikeOp first = layers.front();
  Type type = getTiledInputType(first, schedule.getMethod());
  for (const TargetSpec *target : request.targets)
    if (std::string problem = findProblem(schedule, type, *target);
        !problem.empty())
      return first->emitOpError("cannot have the schedule ")
             << schedule << " on " << target->name << ": " << problem;
  return success();
}

/// Whether all can be tiled so, each in one kernel.
bool SiblingSelector::canHave(ProductMethod method) {
  return llvm::all_of(layers, [&](LinearLikeOp layer) {
    return findPrecisionProblem(method, layer.getInputType(),
                                layer.getPrecision(), layer.getK())
               .empty() &&
           !findTiledObstacle(layer, method, ReductionMethod::Separate) &&
           !findEpilogueObstacle(layer);
  });
}

/// Keeps the best schedule by this method if it is better than those before.
void SiblingSelector::consider(ProductMethod method) {
  if (!canHave(method))
    return;
  LayerProblem problem = describeSiblings(layers, method);
  const ScheduleFamily *family = chooseFamily(problem, request.targets).family;
  auto choice = family ? family->choose(problem, request.targets)
                       : std::optional<ScheduleChoice>();
  if (choice && (!best || choice->getWorstRatio() < best->getWorstRatio()))
    best = std::move(choice);
}

remark::RemarkOpts SiblingSelector::getRemarkOptions(StringRef name) {
  auto function = layers.front()->getParentOfType<FunctionOpInterface>();
  return remark::RemarkOpts::name(name)
      .category("tenon-select-strategy")
      .function(function ? function.getName() : StringRef());
}

/// Whether one launch is predicted to take clearly less time on each target
/// than one for each layer.
bool SiblingSelector::isFaster() {
  SmallVector<double> apart = predictApart(layers, request);
  bool isFaster = true;
  for (auto [prediction, sum] : llvm::zip_equal(best->predictions, apart))
    isFaster &= prediction.seconds < kClearlyLess * sum;
  if (!isFaster)
    ValuedRemark(
        remark::missed(layers.front()->getLoc(), getRemarkOptions("Siblings")))
        << Reason(ReasonCode::NotPredictedAsSiblings, std::ssize(layers),
                  best->predictions.front().seconds * 1e6, apart.front() * 1e6);
  return isFaster;
}

/// Says of each that it is tiled, and of the others in whose launch.
void SiblingSelector::report() {
  auto place = layers.front()->getLoc()->findInstanceOf<FileLineColLoc>();
  for (LinearLikeOp layer : layers) {
    ValuedRemark remark(
        remark::analysis(layer->getLoc(), getRemarkOptions("Strategy")));
    Reason reason(ReasonCode::OneLaunch, std::ssize(layers),
                  best->predictions.front().seconds * 1e6);
    saySchedule(sayStrategy(remark, Strategy::Tiled, reason), *best);
    if (layer != layers.front())
      remark.set("launch_line", place ? int64_t(place.getLine()) : 0);
    remark << ArrayRef(listKernels(layer, best->schedule));
  }
}

/// Puts the layers beside each other, and what needs their results behind them.
static void gather(ArrayRef<LinearLikeOp> layers) {
  Operation *last = layers.back();
  DenseSet<Operation *> before(layers.begin(), layers.end());
  SmallVector<Operation *> dependent;
  for (Operation *op = layers.front(); op != last; op = op->getNextNode())
    if (!llvm::is_contained(layers, op) && readsAny(op, before)) {
      before.insert(op);
      dependent.push_back(op);
    }
  Operation *end = last;
  for (Operation *op : dependent) {
    op->moveAfter(end);
    end = op;
  }
  for (LinearLikeOp layer : layers.drop_back())
    layer->moveBefore(last);
}

void SiblingSelector::setTiled() {
  OpBuilder builder(layers.front()->getContext());
  for (LinearLikeOp layer : layers) {
    layer.setStrategy(Strategy::Tiled);
    layer.setScheduleAttr(best->schedule);
    fitOperands(layer, best->schedule, builder);
  }
  gather(layers);
}

FailureOr<bool> SiblingSelector::run() {
  ScheduleAttr given = getGivenSchedule(layers.front(), request);
  if (given) {
    if (given.getSiblings() != std::ssize(layers) ||
        !canHave(given.getMethod()))
      return false;
    if (failed(checkSchedule(given)))
      return failure();
    best = predictSchedule(describeSiblings(layers, given.getMethod()), given,
                           request.targets);
  } else {
    llvm::for_each(listMethods(layers.front()),
                   [&](ProductMethod method) { consider(method); });
  }
  if (!best) {
    ValuedRemark(
        remark::missed(layers.front()->getLoc(), getRemarkOptions("Siblings")))
        << Reason(ReasonCode::NoLaunchOfSiblings, std::ssize(layers));
    return false;
  }
  if (!given && !request.siblings && !isFaster())
    return false;
  report();
  setTiled();
  return true;
}
