//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Family mma_sync, as the choice of schedules sees it.
//
//===----------------------------------------------------------------------===//

#include "MmaSyncFamily.h"

#include "MmaSyncCandidates.h"
#include "MmaSyncHeuristics.h"
#include "Schedule/Prediction/LibraryTime.h"

#include "tenon/Schedule/MmaSync/MmaSyncSchedule.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::tenon;
using llvm::formatv;

MmaSyncFamily::MmaSyncFamily()
    : ScheduleFamily({.family = KernelFamily::MmaSync,
                      .roundsTf32 = false,
                      .isResidentDynamic = false,
                      .isResidentDirect = false,
                      .isResidentMeasured = false}) {}

std::string MmaSyncFamily::findProblem(ScheduleAttr schedule,
                                       Type elementType) const {
  return findMmaSyncProblem(schedule, elementType);
}

std::string MmaSyncFamily::findProblem(ScheduleAttr schedule,
                                       const TargetSpec &target) const {
  return findMmaSyncProblem(schedule, target);
}

int64_t MmaSyncFamily::getBlockThreads(ScheduleAttr schedule) const {
  return schedule.getNumThreads();
}

int64_t MmaSyncFamily::getEpilogueBytes(ScheduleAttr schedule) const {
  return schedule.getNumWarps() * kStagingBytesPerWarp;
}

int64_t MmaSyncFamily::getExchangedColumns(ScheduleAttr schedule) const {
  return std::max(schedule.getTile()[1], kNarrowTileColumns);
}

std::string MmaSyncFamily::findResidentProblem(FusedLinearOp,
                                               ScheduleAttr) const {
  return "";
}

bool MmaSyncFamily::runsOn(const TargetSpec &target) const {
  return target.hasMmaSync;
}

bool MmaSyncFamily::multiplies(ProductMethod method,
                               const TargetSpec &target) const {
  return method != ProductMethod::FP8 || target.mmaSyncRate.bits8 != 0;
}

std::string MmaSyncFamily::findExtentProblem(Type elementType,
                                             int64_t k) const {
  if (elementType.getIntOrFloatBitWidth() != 8 || k % 16 == 0)
    return "";
  return formatv("8 bits are copied in rows of multiples of 16 bytes, but K is "
                 "{0}; pad it to {1}",
                 k, llvm::alignTo(k, 16));
}

/// What is multiplied directly and lies along M or N is copied element by
/// element: for whoever asks, and for pointers that others do not take.
bool MmaSyncFamily::canCompute(const LayerProblem &problem,
                               ScheduleAttr schedule) const {
  return problem.layout == OperandLayout::MK_NK ||
         schedule.getMethod() != ProductMethod::Direct;
}

Prediction MmaSyncFamily::predict(const LayerProblem &problem,
                                  ScheduleAttr schedule,
                                  const TargetSpec &target) const {
  return predictMmaSync(problem, schedule, target);
}

std::optional<ScheduleChoice>
MmaSyncFamily::choose(const LayerProblem &problem,
                      ArrayRef<const TargetSpec *> targets) const {
  return chooseMmaSync(problem, targets);
}

SmallVector<RankedSchedule>
MmaSyncFamily::rank(const LayerProblem &problem,
                    ArrayRef<const TargetSpec *> targets) const {
  SmallVector<RankedSchedule> ranked;
  for (ScheduleAttr schedule : listMmaSyncSchedules(problem, targets))
    ranked.push_back(
        {schedule,
         predictSchedule(problem, schedule, targets).getWorstRatio()});
  return ranked;
}

/// What tiled must be predicted to take of the library's time, for mma_sync:
/// predictions err by about as much, and the library is the known quantity.
static constexpr double kMmaSyncRatio = 0.9;

/// Rows of x up to which cuBLAS was faster for such rows of w.
static constexpr int64_t kFewRows = 128;

/// A target on which cuBLAS has a faster instruction than mma.sync; null if
/// there is none. No layer of an H200 is faster tiled by mma.sync, whatever is
/// predicted, but for rows that are no multiples of 16 bytes (regret.json).
static const TargetSpec *
findFasterLibrary(const LayerProblem &problem,
                  ArrayRef<const TargetSpec *> targets) {
  // SGEMM has no tensor cores, few rows do not wait for them, and the library
  // has slow kernels alone for rows that are no multiples of 16 bytes.
  int64_t rowBits = problem.k * problem.libraryType.getIntOrFloatBitWidth();
  bool isSlow = rowBits % 128 != 0 && problem.m > kFewRows;
  if (problem.isFp32 || isForMmaSync(problem) || isSlow)
    return nullptr;
  auto getRate = [](Type type, const TargetSpec::Rates &rates) {
    return type.isF32() ? rates.tf32 : rates.bits16;
  };
  auto *found = llvm::find_if(targets, [&](const TargetSpec *target) {
    return getRate(problem.libraryType, target->libraryRate) >
           getRate(problem.tiledType, target->mmaSyncRate);
  });
  return found == targets.end() ? nullptr : *found;
}

Verdict MmaSyncFamily::weigh(const LayerProblem &problem,
                             const ScheduleChoice &choice,
                             ArrayRef<const TargetSpec *> targets) const {
  if (const TargetSpec *target = findFasterLibrary(problem, targets))
    return {false, {ReasonCode::LibraryHasFasterInstruction, target->name}};
  bool isUncertain = isLibraryUncertain(problem) && !choice.isTuned &&
                     choice.schedule.isSplit();
  double limit = isUncertain ? kUncertainRatio : kMmaSyncRatio;
  if (choice.getWorstRatio() <= limit)
    return {true, ReasonCode::PredictedMuchFaster};
  return {false, ReasonCode::NotPredictedMuchFaster};
}
