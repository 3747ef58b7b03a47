//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Predicts times of epilogues of family wgmma.
//
//===----------------------------------------------------------------------===//

#include "WgmmaEpilogueTime.h"

#include "tenon/Schedule/Wgmma/WgmmaSchedule.h"

using namespace mlir;
using namespace mlir::tenon;

// Fitted with those of WgmmaHeuristics.cpp.

/// A subtile of an epilogue, and each of its elements, in a warpgroup.
static constexpr double kSubtileSeconds = 0.15e-6, kLightSeconds = 2e-11,
                        kHeavySeconds = 2.2e-10;
/// Each heavy op but the first where rows are resident: GELU and softmax, three
/// of them, of 1024x8192x8192 took 1.195 of the product, group norm and SiLU
/// 1.081 (an H200, 2026-11-29).
static constexpr double kHeavyRowSeconds = 3e-10;

/// Columns of a subtile of the epilogue (Wgmma/EpilogueSubtiles), or with
/// swapped operands rows, if each matrix has two buffers: so it was when the
/// times were measured.
static int64_t getSubtileColumns(const LayerProblem &problem,
                                 ScheduleAttr schedule) {
  constexpr int64_t rows = 64, leastColumns = 8;
  bool isSwapped = schedule.hasSwappedOperands();
  for (int64_t columns = 64; columns > leastColumns;
       columns = isSwapped ? columns - 8 : columns / 2) {
    int64_t memory = 0;
    bool fits = schedule.getTile()[isSwapped ? 0 : 1] % columns == 0;
    for (int64_t bytes : problem.matrixBytes) {
      memory += 2 * rows * columns * bytes;
      fits &= isSwapped || columns * bytes <= 128;
    }
    if (fits && memory <= getWarpgroupEpilogueBytes(schedule))
      return columns;
  }
  return leastColumns;
}

double tenon::predictWgmmaEpilogue(const LayerProblem &problem,
                                   ScheduleAttr schedule) {
  double element = kLightSeconds;
  if (problem.epilogue == EpilogueClass::Heavy)
    element = kHeavySeconds + static_cast<double>(problem.heavyOpsOfRows - 1) *
                                  kHeavyRowSeconds;
  ArrayRef<int64_t> tile = schedule.getTile();
  auto elements = static_cast<double>(tile[0] * tile[1] * kWarpgroupThreads /
                                      schedule.getNumThreads());
  auto perSubtile =
      static_cast<double>(64 * getSubtileColumns(problem, schedule));
  // Where nothing but values of rows is stored, elements take what those of 16
  // bits do; not measured.
  int64_t widest = 2;
  if (!problem.matrixBytes.empty())
    widest = *llvm::max_element(problem.matrixBytes);
  return elements * (kSubtileSeconds / perSubtile +
                     element * static_cast<double>(widest) / 2);
}
