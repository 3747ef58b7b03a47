//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Decides whether two layers of one x have one kernel, and says why.
//
//===----------------------------------------------------------------------===//

#include "PairSelector.h"

#include "FamilyChoice.h"
#include "FitOperands.h"
#include "StrategyRemarks.h"

#include "tenon/Schedule/Checks/LayerKernels.h"
#include "tenon/Schedule/Checks/ProductMethod.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mlir::tenon;

remark::RemarkOpts PairSelector::getOptions() {
  auto function = pair.layer->getParentOfType<FunctionOpInterface>();
  return remark::RemarkOpts::name("Strategy")
      .category("tenon-select-strategy")
      .function(function ? function.getName() : StringRef());
}

/// Says why the layers have a kernel each.
void PairSelector::reportMissed(const Reason &reason) {
  ValuedRemark(remark::missed(
      pair.gate->getLoc(),
      remark::RemarkOpts::name("Pair").category("tenon-select-strategy")))
      << remark::add("not in the kernel of the layer whose epilogue reads it")
      << reason;
}

/// The line of an op, by which remarks name it; 0 where it is not known.
static int64_t getLine(Operation *op) {
  auto place = op->getLoc()->findInstanceOf<FileLineColLoc>();
  return place ? place.getLine() : 0;
}

/// Adds what is neither written nor read of the gate: of a row where M is
/// dynamic, else all.
static void addSaved(ValuedRemark &remark, const LayerPair &pair) {
  int64_t row = 0;
  for (RankedTensorType type : pair.getSavedTypes())
    row += type.getDimSize(1) * type.getElementTypeBitWidth() / 8;
  int64_t m = LinearLikeOp(pair.gate).getExtents().m;
  if (ShapedType::isDynamic(m))
    remark << remark::metric("BytesSavedPerRow", row);
  else
    remark << remark::metric("BytesSaved", row * m);
}

/// Says of both that they are tiled, and of the gate in whose kernel.
void PairSelector::report(const Reason &reason) {
  for (LinearLikeOp layer : getLayers()) {
    ValuedRemark remark(remark::analysis(layer->getLoc(), getOptions()));
    saySchedule(sayStrategy(remark, Strategy::Tiled, reason), *best);
    SmallVector<KernelKind> kernels = listKernels(layer, best->schedule);
    if (layer == pair.gate)
      addSaved(remark.set("kernel_line", getLine(pair.layer)), pair);
    else if (best->schedule.isSplit() &&
             !findFitting(layer.getX(), /*transposed=*/false, layer,
                          best->schedule.getMethod()))
      kernels.insert(kernels.begin(), KernelKind::Split);
    remark << ArrayRef(kernels);
  }
}

/// The schedule that is asked for, or the best one; none if none runs on all
/// targets.
std::optional<ScheduleChoice>
PairSelector::choose(const LayerProblem &problem) {
  if (schedule)
    return predictSchedule(problem, schedule, request.targets);
  const ScheduleFamily *family = chooseFamily(problem, request.targets).family;
  auto choice = family ? family->choose(problem, request.targets)
                       : std::optional<ScheduleChoice>();
  bool isOfPair = choice && choice->schedule.getWeights() == problem.weights;
  return isOfPair ? choice : std::nullopt;
}

/// Keeps the best schedule by this method if it is better than those before.
void PairSelector::consider(ProductMethod method) {
  for (LinearLikeOp layer : getLayers())
    if (findTiledObstacle(layer, method, ReductionMethod::Separate))
      return;
  auto choice = choose(describePair(pair, method));
  if (choice && (!best || choice->getWorstRatio() < best->getWorstRatio()))
    best = std::move(choice);
}

/// Finds the best schedule; says what keeps the layers from any.
std::optional<Reason> PairSelector::findBest() {
  if (auto obstacle = findPairObstacle(pair))
    return obstacle;
  if (schedule)
    consider(schedule.getMethod());
  else
    for (ProductMethod method : listMethods(pair.gate))
      consider(method);
  return best ? std::nullopt
              : std::optional<Reason>(ReasonCode::NoScheduleOfPair);
}

/// Whether the targets can take the schedule that is written or asked for.
LogicalResult PairSelector::checkSchedule() {
  Type type = getTiledInputType(pair.gate, schedule.getMethod());
  for (const TargetSpec *target : request.targets)
    if (std::string problem = findProblem(schedule, type, *target);
        !problem.empty())
      return pair.layer.emitOpError("cannot have the schedule ")
             << schedule << " on " << target->name << ": " << problem;
  return success();
}

/// Whether one kernel is predicted to take no longer than two do on any target,
/// and in which words.
std::pair<bool, Reason> PairSelector::weigh() {
  SmallVector<double> apart(request.targets.size());
  for (LinearLikeOp layer : getLayers())
    for (auto [sum, seconds] :
         llvm::zip(apart, StrategySelector(layer, request).predictSeconds()))
      sum += seconds;
  bool isFaster = true;
  for (auto [prediction, sum] : llvm::zip_equal(best->predictions, apart))
    isFaster &= prediction.seconds <= sum;
  return {
      isFaster,
      {isFaster ? ReasonCode::PredictedAsPair : ReasonCode::NotPredictedAsPair,
       best->predictions.front().seconds * 1e6, apart.front() * 1e6}};
}

void PairSelector::setTiled() {
  OpBuilder builder(pair.layer.getContext());
  for (LinearLikeOp layer : getLayers()) {
    layer.setStrategy(Strategy::Tiled);
    layer.setScheduleAttr(best->schedule);
    fitOperands(layer, best->schedule, builder);
  }
}

/// Whether something else is written on a layer or asked for; else takes over
/// the schedule that is.
bool PairSelector::isOtherwiseDecided() {
  SmallVector<LinearLikeOp> layers = getLayers();
  ScheduleAttr written = layers[0].getScheduleAttr();
  isWritten = written && written.getWeights() != 1 &&
              layers[1].getScheduleAttr() == written;
  schedule = isWritten ? written : request.schedule;
  if (isWritten)
    return false;
  return request.strategy == Strategy::Library || request.pairs == false ||
         (schedule && schedule.getWeights() == 1) ||
         llvm::any_of(layers, [](LinearLikeOp layer) {
           return layer.getStrategy() || layer.getScheduleAttr();
         });
}

FailureOr<bool> PairSelector::run() {
  if (isOtherwiseDecided())
    return false;
  if (std::optional<Reason> obstacle = findBest()) {
    if (isWritten)
      return pair.layer.emitOpError("cannot have the schedule ")
             << schedule << ": " << obstacle->getText();
    reportMissed(*obstacle);
    return false;
  }
  if (schedule && failed(checkSchedule()))
    return failure();
  auto [isFaster, reason] = weigh();
  if (isWritten)
    reason = ReasonCode::WrittenOnLayer;
  if (!isFaster && !schedule && !request.pairs) {
    reportMissed(reason);
    return false;
  }
  report(reason);
  setTiled();
  return true;
}
