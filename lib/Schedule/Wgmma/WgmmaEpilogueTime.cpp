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

/// How much longer an element takes of a tile whose accumulators leave few
/// registers beside sums over the batch, and the most that leave enough.
/// 65536x1024x512 and 65536x512x256 with a gate of one operand took 143 and 69
/// us by tiles of 192x128 with ping-pong, and 130 and 60 by 128x128 (an H200,
/// 2026-11-29).
static constexpr double kCrowdedSumsFactor = 1.25;
static constexpr int64_t kRoomyElements = 128;

bool tenon::sumsInRegisters(const LayerProblem &problem,
                            ScheduleAttr schedule) {
  return problem.givesSums && problem.epilogue == EpilogueClass::Heavy &&
         schedule.hasSwappedOperands();
}

/// Bytes of all buffers in which an element of a subtile lies: two of each
/// matrix, as it was when the times were measured; beside sums three of each,
/// of which the result, the last, shares those of an operand.
static int64_t getBufferedBytes(const LayerProblem &problem,
                                ScheduleAttr schedule) {
  ArrayRef<int64_t> bytes = problem.matrixBytes;
  bool areShared = sumsInRegisters(problem, schedule) &&
                   llvm::is_contained(bytes.drop_back(), bytes.back());
  return areShared ? 3 * llvm::sum_of(bytes.drop_back())
                   : 2 * llvm::sum_of(bytes);
}

/// Columns of a subtile of the epilogue (Wgmma/EpilogueSubtiles), or with
/// swapped operands rows.
static int64_t getSubtileColumns(const LayerProblem &problem,
                                 ScheduleAttr schedule) {
  constexpr int64_t rows = 64, leastColumns = 8;
  bool isSwapped = schedule.hasSwappedOperands();
  for (int64_t columns = 64; columns > leastColumns;
       columns = isSwapped ? columns - 8 : columns / 2) {
    bool fits = schedule.getTile()[isSwapped ? 0 : 1] % columns == 0;
    for (int64_t bytes : problem.matrixBytes)
      fits &= isSwapped || columns * bytes <= 128;
    int64_t memory = rows * columns * getBufferedBytes(problem, schedule);
    if (fits && memory <= getWarpgroupEpilogueBytes(schedule))
      return columns;
  }
  return leastColumns;
}

double tenon::predictWgmmaEpilogue(const LayerProblem &problem,
                                   ScheduleAttr schedule) {
  // Of rows of 1024x8192x8192 GELU and softmax, three heavy ops, took 1.102 of
  // the product, group norm and SiLU 1.033 (an H200, 2026-11-29).
  double element =
      problem.epilogue == EpilogueClass::Heavy
          ? kHeavySeconds * static_cast<double>(problem.heavyOpsOfRows)
          : kLightSeconds;
  ArrayRef<int64_t> tile = schedule.getTile();
  int64_t ofThread = tile[0] * tile[1] / schedule.getNumThreads();
  if (sumsInRegisters(problem, schedule) && ofThread > kRoomyElements)
    element *= kCrowdedSumsFactor;
  auto elements = static_cast<double>(ofThread * kWarpgroupThreads);
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
