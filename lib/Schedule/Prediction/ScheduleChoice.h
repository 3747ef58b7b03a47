//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a schedule comes to on its targets.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SCHEDULE_PREDICTION_SCHEDULECHOICE_H
#define TENON_LIB_SCHEDULE_PREDICTION_SCHEDULECHOICE_H

#include "LayerProblem.h"

#include "tenon/Schedule/Checks/Schedule.h"

namespace mlir::tenon {

/// What a schedule comes to on one target.
struct Prediction {
  const TargetSpec *target;
  double waves;            ///< tiles, in rounds of all resident blocks
  double seconds, library; ///< predicted, of the kernel and of the library
};

/// A schedule that all targets can take, and what it comes to on each.
struct ScheduleChoice {
  ScheduleAttr schedule;
  SmallVector<Prediction> predictions;
  bool isTuned = false; ///< from the table of measured schedules

  /// The largest ratio of the kernel's time to the library's.
  double getWorstRatio() const;
};

/// Seconds of the kernels beside a tiled one: those that make x and w fit it,
/// the one that guards split products, the one that does what it leaves.
double predictOthers(const LayerProblem &problem, ScheduleAttr schedule,
                     const TargetSpec &target);

/// With reduction = resident: what a turn's wait for the states of the column's
/// other tiles takes (an H200, 2026-11-22).
inline constexpr double kExchangeSeconds = 5e-6;
/// What is left of that wait between turns, and after the last one, where it
/// happens beside the next turn's products. Together with kExchangeSeconds
/// these give what bf16 loses by it in 2 turns and wins in 16 (an H200,
/// 2026-11-23).
inline constexpr double kHoldSeconds = 3.6e-6, kLastHoldSeconds = 9e-6;
/// Whether tiles are held from one turn to the next as resident with defer does
/// it, where that was measured: matrices of 16 bits, a light epilogue, and K so
/// long that an exchange is hidden.
bool mayHold(const LayerProblem &problem);
/// The turns in which all columns are computed, as many at a time as have all
/// of their row tiles at work at once.
double getTurns(const LayerProblem &problem, ScheduleAttr schedule,
                const TargetSpec &target);
/// With reduction = resident_rows: of how many rows of tiles, or groups of
/// their columns, all tiles are at work at once; else clusters that are.
int64_t getTeams(const LayerProblem &problem, ScheduleAttr schedule,
                 const TargetSpec &target);
/// Whether all row tiles of a column are at work at once, as reduction =
/// resident asks.
bool fitsTurn(const LayerProblem &problem, ScheduleAttr schedule,
              const TargetSpec &target);

/// Whether all targets can run it, and have room for a turn where tiles wait
/// for each other.
bool canRun(const LayerProblem &problem, ScheduleAttr schedule,
            ArrayRef<const TargetSpec *> targets);

/// What stream-K takes to leave a partial tile, to wait for another block's,
/// and bytes of them a second for the whole GPU.
struct ExchangeTimes {
  double publish, wait, rate;

  /// Seconds for tiles of so many parts to pass through L2: the block that has
  /// a tile's end reads the parts of all others, one after the other.
  double predict(ScheduleAttr schedule, double parts,
                 const TargetSpec &target) const;
};

/// Predicts a given schedule, of any family.
ScheduleChoice predictSchedule(const LayerProblem &problem,
                               ScheduleAttr schedule,
                               ArrayRef<const TargetSpec *> targets);

} // namespace mlir::tenon

#endif // TENON_LIB_SCHEDULE_PREDICTION_SCHEDULECHOICE_H
