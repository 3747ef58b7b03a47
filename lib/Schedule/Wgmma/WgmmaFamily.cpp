//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Family wgmma, as the choice of schedules sees it.
//
//===----------------------------------------------------------------------===//

#include "WgmmaFamily.h"

#include "Schedule/Prediction/LibraryTime.h"
#include "WgmmaChoice.h"
#include "WgmmaHeuristics.h"
#include "WgmmaTuning.h"

#include "tenon/Schedule/Checks/ReductionMethod.h"
#include "tenon/Schedule/Wgmma/SubtileLayout.h"
#include "tenon/Schedule/Wgmma/WgmmaSchedule.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::tenon;

using llvm::formatv;

// TMA rounds to tf32 as it copies. More rows than the GPU holds are reduced as
// by two_phase.
WgmmaFamily::WgmmaFamily()
    : ScheduleFamily({.family = KernelFamily::Wgmma,
                      .roundsTf32 = true,
                      .isResidentDynamic = true,
                      .isResidentDirect = true,
                      .isResidentMeasured = true}) {}

//===----------------------------------------------------------------------===//
// Threads and bytes
//===----------------------------------------------------------------------===//

std::string WgmmaFamily::findProblem(ScheduleAttr schedule,
                                     Type elementType) const {
  return findWgmmaProblem(schedule, elementType);
}

std::string WgmmaFamily::findProblem(ScheduleAttr schedule,
                                     const TargetSpec &target) const {
  return findWgmmaProblem(schedule, target);
}

int64_t WgmmaFamily::getBlockThreads(ScheduleAttr schedule) const {
  return kWarpgroupThreads * (1 + getConsumerWarpgroups(schedule));
}

int64_t WgmmaFamily::getBarrierBytes(ScheduleAttr schedule) const {
  return tenon::getBarrierBytes(schedule);
}

int64_t WgmmaFamily::getEpilogueBytes(ScheduleAttr schedule) const {
  return getConsumerWarpgroups(schedule) * getWarpgroupEpilogueBytes(schedule);
}

int64_t WgmmaFamily::getExchangedColumns(ScheduleAttr schedule) const {
  return schedule.getTile()[1];
}

//===----------------------------------------------------------------------===//
// What cannot be
//===----------------------------------------------------------------------===//

std::string WgmmaFamily::findExtentProblem(Type elementType, int64_t k) const {
  int64_t bytes = elementType.getIntOrFloatBitWidth() / 8;
  if (k * bytes % 16 == 0)
    return "";
  return formatv("TMA copies rows of multiples of 16 bytes, but K = {0} of {1} "
                 "has {2}; pad K to {3}",
                 k, elementType, k * bytes, llvm::alignTo(k, 16 / bytes));
}

/// What lies along M or N is copied in boxes of 128 bytes, a row of K each, of
/// which a block has whole ones.
std::string
WgmmaFamily::findLayoutProblem(ScheduleAttr schedule, Type elementType,
                               OperandLayout layout,
                               const ProductExtents &extents) const {
  int64_t bytes = elementType.getIntOrFloatBitWidth() / 8;
  int64_t box = schedule.getSwizzle() / bytes;
  if (bytes != 2)
    return formatv("wgmma reads {0} along K alone, but the layout is {1}",
                   elementType, stringifyOperandLayout(layout));
  if (schedule.getDefer() && isXTransposed(layout))
    return formatv("with defer x lies along K, but the layout is {0}; leave "
                   "out defer",
                   stringifyOperandLayout(layout));
  ArrayRef<int64_t> tile = schedule.getTile();
  auto find = [&](StringRef name, int64_t extent, int64_t rows) -> std::string {
    if (extent * bytes % 16 != 0)
      return formatv("TMA copies rows of multiples of 16 bytes, but {0} = {1} "
                     "of {2} has {3}; pad {0} to {4}",
                     name, extent, elementType, extent * bytes,
                     llvm::alignTo(extent, 16 / bytes));
    if (rows % box != 0)
      return formatv("with layout {0} a block copies a multiple of {1} along "
                     "{2} of the tile, not {3}; use another {2}",
                     stringifyOperandLayout(layout), box, name, rows);
    return "";
  };
  std::string problem;
  if (isXTransposed(layout))
    problem = find("M", extents.m, tile[0] / schedule.getClusterN());
  if (problem.empty() && isWTransposed(layout))
    problem = find("N", extents.n, tile[1] / schedule.getClusterM());
  return problem;
}

/// They are of what kernels store by TMA (schedule-R5), or of what is in
/// registers where they have whole rows.
std::string WgmmaFamily::findMomentsProblem(FusedLinearOp op,
                                            ScheduleAttr schedule) const {
  auto stored = cast<RankedTensorType>(getStored(op).getType());
  bool readsBuffers = schedule.getReduction() == ReductionMethod::TwoPhase &&
                      !schedule.hasSwappedOperands();
  if (readsBuffers)
    for (auto reduction : op.getBody()->getOps<ReductionEpilogueOp>())
      if (reduction.getReducedInput() != getStored(op))
        return formatv("kernels of warps = {0}x1 reduce what they store, and "
                       "'{1}' is of another value; write warps = 1x{0}",
                       schedule.getNumWarps(),
                       reduction->getName().getStringRef());
  int64_t size = stored.getElementTypeBitWidth() / 8;
  int64_t n = stored.getDimSize(1);
  if (n * size % 16 == 0)
    return "";
  return formatv("TMA stores rows of multiples of 16 bytes, but N = {0} of {1} "
                 "has {2}; pad N to {3}, or take a mma_sync schedule with "
                 "reduction = two_phase",
                 n, stored.getElementType(), n * size,
                 llvm::alignTo(n, 16 / size));
}

bool WgmmaFamily::hasRoom(FusedLinearOp op, ScheduleAttr schedule) const {
  return SubtileLayout::choose(*op.getBody(), op.getEpilogueOperands(),
                               op.getResults(), schedule)
      .has_value();
}

/// With swapped operands (schedule-R6).
static std::string findSwappedProblem(FusedLinearOp op, ScheduleAttr schedule) {
  bool isDynamic =
      cast<RankedTensorType>(op.getAccumulator().getType()).isDynamicDim(0);
  int64_t rows = schedule.getTile()[0], multiple = schedule.getMomentRows();
  if (isDynamic && rows % multiple != 0)
    return formatv("M is dynamic, and rows that do not fit the GPU are reduced "
                   "as by two_phase, which with swapped operands asks for an M "
                   "of the tile that is a multiple of {0}, not {1}; use "
                   "another M",
                   multiple, rows);
  if (reducesRowOperand(op))
    return formatv("with swapped operands no operand with rows may come before "
                   "the batch norm; write warps = {0}x1 and a tile of a "
                   "multiple of {1} rows",
                   schedule.getNumWarps(), 16 * schedule.getNumWarps());
  return "";
}

std::string WgmmaFamily::findResidentProblem(FusedLinearOp op,
                                             ScheduleAttr schedule) const {
  if (schedule.hasSwappedOperands())
    if (std::string problem = findSwappedProblem(op, schedule);
        !problem.empty())
      return problem;
  if (!hasRoom(op, schedule))
    return "TMA must be able to move all [M, N] operands and results, rows of "
           "multiples of 16 bytes of f32, f16 or bf16, and the tile has no "
           "room for so many; write reduction = two_phase";
  return "";
}

bool WgmmaFamily::runsOn(const TargetSpec &target) const {
  return target.hasWgmma;
}

bool WgmmaFamily::multiplies(ProductMethod method) const {
  return getTraits(method).usesTensorCores;
}

//===----------------------------------------------------------------------===//
// The choice
//===----------------------------------------------------------------------===//

/// Accumulators beside which a kernel with swapped operands has registers for
/// values of rows, and for what is computed before it reduces.
static constexpr int64_t kRoomySwappedAccumulators = 128;

bool WgmmaFamily::canCompute(const LayerProblem &problem,
                             ScheduleAttr schedule) const {
  if (!schedule.hasSwappedOperands())
    return true;
  bool isResident = problem.reduction == ReductionMethod::Resident;
  // It could, but spills.
  if ((isResident || problem.hasRowValues) &&
      getAccumulators(schedule) > kRoomySwappedAccumulators)
    return false;
  // Nothing with rows is there when such a kernel reduces.
  return !isResident || !problem.reducesRowOperand;
}

Prediction WgmmaFamily::predict(const LayerProblem &problem,
                                ScheduleAttr schedule,
                                const TargetSpec &target) const {
  return predictWgmma(problem, schedule, target);
}

std::optional<ScheduleChoice>
WgmmaFamily::choose(const LayerProblem &problem,
                    ArrayRef<const TargetSpec *> targets) const {
  return chooseWgmma(problem, targets, getWgmmaTunedSchedules(problem.weights));
}

SmallVector<RankedSchedule>
WgmmaFamily::rank(const LayerProblem &problem,
                  ArrayRef<const TargetSpec *> targets) const {
  return rankWgmmaSchedules(problem, targets);
}

/// What tiled may be predicted to take of the library's time for wgmma, and
/// where that does all and has no activation: there products are all that
/// count, of small ones a tiled kernel starts later where nothing runs before
/// it, and of large ones, which power limits, the prediction is some percent
/// too low. Of few rows the library's is too high: cuBLAS took 8.9 us for
/// 64x4096x4096 on an H200, not 11.8. Of the first, 1.1 gave the least regret
/// over the layers of benchmarks/results/regret.json.
static constexpr double kWgmmaRatio = 1.1, kWgmmaBareRatio = 0.8,
                        kFewRowsBareRatio = 0.75;
/// What it may be predicted to take of rows so few that the library's time is
/// not known well, where the library's own epilogue does not do all: operands
/// are swapped there, which is predicted well (sm90a_few_rows_auto.json).
static constexpr double kFewRowsRatio = 0.95;

double WgmmaFamily::getShareLimit(const LayerProblem &problem,
                                  const ScheduleChoice &choice) const {
  bool isSplit = choice.schedule.isSplit();
  bool isBare = problem.libraryDoesAll && !problem.libraryActivates;
  if (isLibraryUncertain(problem) && !choice.isTuned)
    return isBare || isSplit ? kUncertainRatio : kFewRowsRatio;
  if (!isBare)
    return kWgmmaRatio;
  return isFewRows(problem) && !choice.isTuned ? kFewRowsBareRatio
                                               : kWgmmaBareRatio;
}

Verdict WgmmaFamily::weigh(const LayerProblem &problem,
                           const ScheduleChoice &choice,
                           ArrayRef<const TargetSpec *>) const {
  double limit = getShareLimit(problem, choice);
  bool isTiled = choice.getWorstRatio() <= limit;
  return {
      isTiled,
      {isTiled ? ReasonCode::PredictedWithin : ReasonCode::NotPredictedWithin,
       limit}};
}
