//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How much faster than the library a tiled kernel must be predicted.
//
//===----------------------------------------------------------------------===//

#include "StrategySelector.h"

using namespace mlir;
using namespace mlir::tenon;

/// What tiled must be predicted to take of the library's time, for mma_sync.
/// The prediction was off by more than this for some of the layers in
/// benchmarks/results/auto.json, and the library is the known quantity.
static constexpr double kMmaSyncRatio = 0.9;
/// The same for few rows where it is not known better: the prediction was too
/// low by up to 2 there (benchmarks/results/sm90a_sweep.json).
static constexpr double kFewRowsRatio = 0.5;
/// What tiled may be predicted to take of the library's time for wgmma, and
/// where that does all and has no activation: there products are all that
/// count, of small ones a tiled kernel starts later where nothing runs before
/// it, and of large ones, which power limits, the prediction is some percent
/// too low. Of few rows the library's is too high: cuBLAS took 8.9 us for
/// 64x4096x4096 on an H200, not 11.8. Of the first, 1.1 gave the least regret
/// over the layers of benchmarks/results/regret.json.
static constexpr double kWgmmaRatio = 1.1, kWgmmaBareRatio = 0.8,
                        kFewRowsBareRatio = 0.75;
/// Rows below which that is so for split products and where the library's own
/// epilogue does all; what was measured of others with swapped operands bears
/// kFewRowsWgmmaRatio out (benchmarks/results/sm90a_few_rows_auto.json).
static constexpr int64_t kLeastRows = 64;
static constexpr double kFewRowsWgmmaRatio = 0.95;

/// The same of precision fp32. Of one row cuBLAS errs less than split products
/// do, which there were 1.2 times as fast on an H200; of 2 to 128 rows it erred
/// more, and took 1.7 to 3.6 times as long.
static constexpr int64_t kFewFp32Rows = 2;

const TargetSpec *
tenon::findFasterLibrary(const LayerProblem &problem,
                         ArrayRef<const TargetSpec *> targets) {
  // SGEMM has no tensor cores, few rows do not wait for them, and the library
  // has slow kernels alone for rows that are no multiples of 16 bytes.
  int64_t rowBits = problem.k * problem.libraryType.getIntOrFloatBitWidth();
  bool isSlow = rowBits % 128 != 0 && !isFewRows(problem);
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

bool tenon::libraryErrsLess(const LayerProblem &problem) {
  return problem.m == 1 && !problem.isFp32 && problem.libraryType.isF32();
}

double tenon::getLimit(const LayerProblem &problem,
                       const ScheduleChoice &choice) {
  bool isWgmma = choice.schedule.getFamily() == KernelFamily::Wgmma;
  bool isSplit = choice.schedule.isSplit();
  bool isBare = isWgmma && problem.libraryDoesAll && !problem.libraryActivates;
  if (problem.m < (problem.isFp32 ? kFewFp32Rows : kLeastRows) &&
      !choice.isTuned && (isWgmma || isSplit))
    return isBare || isSplit ? kFewRowsRatio : kFewRowsWgmmaRatio;
  if (!isWgmma)
    return kMmaSyncRatio;
  if (!isBare)
    return kWgmmaRatio;
  return isFewRows(problem) && !choice.isTuned ? kFewRowsBareRatio
                                               : kWgmmaBareRatio;
}
