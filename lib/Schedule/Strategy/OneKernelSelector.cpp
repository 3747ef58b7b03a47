//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Decides whether layers have one kernel, and says why.
//
//===----------------------------------------------------------------------===//

#include "OneKernelSelector.h"

#include "FamilyChoice.h"
#include "FitOperands.h"
#include "StrategyRemarks.h"

#include "tenon/Schedule/Checks/LayerKernels.h"
#include "tenon/Schedule/Checks/ProductMethod.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mlir::tenon;

remark::RemarkOpts OneKernelSelector::getOptions() {
  auto function = layers.back()->getParentOfType<FunctionOpInterface>();
  return remark::RemarkOpts::name("Strategy")
      .category("tenon-select-strategy")
      .function(function ? function.getName() : StringRef());
}

/// Says why the layers have a kernel each, where the first one stands.
void OneKernelSelector::reportMissed(const Reason &reason) {
  ValuedRemark(remark::missed(
      layers.front()->getLoc(),
      remark::RemarkOpts::name("Pair").category("tenon-select-strategy")))
      << remark::add("not in the kernel of the layer whose epilogue reads it")
      << reason;
}

/// The line of an op, by which remarks name it; 0 where it is not known.
static int64_t getLine(Operation *op) {
  auto place = op->getLoc()->findInstanceOf<FileLineColLoc>();
  return place ? place.getLine() : 0;
}

/// Adds what is neither written nor read between them: of a row where M is
/// dynamic, else all.
void OneKernelSelector::addSaved(ValuedRemark &remark) {
  int64_t row = 0;
  for (RankedTensorType type : getSavedTypes())
    row += type.getDimSize(1) * type.getElementTypeBitWidth() / 8;
  int64_t m = layers.back().getExtents().m;
  if (ShapedType::isDynamic(m))
    remark << remark::metric("BytesSavedPerRow", row);
  else
    remark << remark::metric("BytesSaved", row * m);
}

/// Says of all that they are tiled, and of those before the last in whose
/// kernel.
void OneKernelSelector::report(const Reason &reason) {
  for (LinearLikeOp layer : layers) {
    ValuedRemark remark(remark::analysis(layer->getLoc(), getOptions()));
    saySchedule(sayStrategy(remark, Strategy::Tiled, reason), *best);
    SmallVector<KernelKind> kernels = listKernels(layer, best->schedule);
    if (layer != layers.back())
      remark.set("kernel_line", getLine(layers.back()));
    if (layer == layers.front())
      addSaved(remark);
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
OneKernelSelector::choose(const LayerProblem &problem) {
  if (schedule)
    return predictSchedule(problem, schedule, request.targets);
  const ScheduleFamily *family = chooseFamily(problem, request.targets).family;
  auto choice = family ? family->choose(problem, request.targets)
                       : std::optional<ScheduleChoice>();
  if (!choice || choice->schedule.getWeights() != problem.weights)
    return std::nullopt;
  choice->schedule = finish(choice->schedule);
  bool runs = llvm::all_of(request.targets, [&](const TargetSpec *target) {
    return findProblem(choice->schedule, problem.tiledType, *target).empty();
  });
  return runs ? choice : std::nullopt;
}

/// Keeps the best schedule by this method if it is better than those before.
void OneKernelSelector::consider(ProductMethod method) {
  for (LinearLikeOp layer : layers)
    if (findTiledObstacle(layer, method, ReductionMethod::Separate))
      return;
  auto choice = choose(describeAll(method));
  if (choice && (!best || choice->getWorstRatio() < best->getWorstRatio()))
    best = std::move(choice);
}

/// Finds the best schedule; says what keeps the layers from any.
std::optional<Reason> OneKernelSelector::findBest() {
  if (auto obstacle = findObstacle())
    return obstacle;
  if (schedule)
    consider(schedule.getMethod());
  else
    for (ProductMethod method : listMethods(layers.front()))
      consider(method);
  return best ? std::nullopt
              : std::optional<Reason>(ReasonCode::NoScheduleOfPair);
}

/// Whether the targets can take the schedule that is written or asked for.
LogicalResult OneKernelSelector::checkSchedule() {
  Type type = getTiledInputType(layers.front(), schedule.getMethod());
  for (const TargetSpec *target : request.targets)
    if (std::string problem = findProblem(schedule, type, *target);
        !problem.empty())
      return layers.back()->emitOpError("cannot have the schedule ")
             << schedule << " on " << target->name << ": " << problem;
  return success();
}

/// Whether one kernel is predicted to take no longer than all do on any target,
/// and in which words.
std::pair<bool, Reason> OneKernelSelector::weigh() {
  SmallVector<double> apart = predictApart(layers, request);
  bool isFaster = true;
  for (auto [prediction, sum] : llvm::zip_equal(best->predictions, apart))
    isFaster &= prediction.seconds <= sum;
  return {
      isFaster,
      {isFaster ? ReasonCode::PredictedAsPair : ReasonCode::NotPredictedAsPair,
       best->predictions.front().seconds * 1e6, apart.front() * 1e6}};
}

void OneKernelSelector::setTiled() {
  OpBuilder builder(layers.back()->getContext());
  for (LinearLikeOp layer : layers) {
    layer.setStrategy(Strategy::Tiled);
    layer.setScheduleAttr(best->schedule);
    fitOperands(layer, best->schedule, builder);
  }
}

/// Whether something else is written on a layer or asked for; else takes over
/// the schedule that is.
bool OneKernelSelector::isOtherwiseDecided() {
  ScheduleAttr written = layers.front().getScheduleAttr();
  isWritten = written && isOfAll(written) &&
              llvm::all_of(layers, [&](LinearLikeOp layer) {
                return layer.getScheduleAttr() == written;
              });
  schedule = isWritten ? written : request.schedule;
  if (isWritten)
    return false;
  return request.strategy == Strategy::Library || request.pairs == false ||
         (schedule && !isOfAll(schedule)) ||
         llvm::any_of(layers, [](LinearLikeOp layer) {
           return layer.getStrategy() || layer.getScheduleAttr();
         });
}

FailureOr<bool> OneKernelSelector::run() {
  if (isOtherwiseDecided())
    return false;
  if (std::optional<Reason> obstacle = findBest()) {
    if (isWritten)
      return layers.back()->emitOpError("cannot have the schedule ")
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
