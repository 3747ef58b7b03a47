//===- TunedSchedules.h - Measured schedules --------------------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Schedules that measured best, which the choice of strategy asks before it
// predicts.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SCHEDULE_WGMMA_TUNEDSCHEDULES_H
#define TENON_LIB_SCHEDULE_WGMMA_TUNEDSCHEDULES_H

#include "Schedule/Prediction/LayerProblem.h"

namespace mlir::tenon {

/// One line of the table: a layer, and the schedule that measured best.
struct TunedSchedule {
  /// What x and w are multiplied as. FP32 is by method fp16x3, TF32ByFP16 by
  /// fp16.
  enum InputType { F16, BF16, TF32, TF32ByFP16, FP32 };

  InputType type;
  int64_t m, n, k;
  EpilogueClass epilogue;
  llvm::StringLiteral schedule; ///< what stands within #tenon.schedule<...>

  /// Null, with a diagnostic, if the text is none.
  ScheduleAttr parse(MLIRContext *context) const;
};

/// The tables of sm_90a, of so many products of x: lib/Schedule/Wgmma/
/// WgmmaTuned.inc, and WgmmaTunedPairs.inc with N of each.
ArrayRef<TunedSchedule> getWgmmaTunedSchedules(int64_t weights = 1);

/// The line of `table` for a layer: of those with its type, N, K and epilogue,
/// the one whose M is nearest in ratio, the earlier of two, if that is a
/// quarter more or less at most. Null if there is none.
const TunedSchedule *findTuned(ArrayRef<TunedSchedule> table,
                               TunedSchedule::InputType type, int64_t m,
                               int64_t n, int64_t k, EpilogueClass epilogue);

} // namespace mlir::tenon

#endif // TENON_LIB_SCHEDULE_WGMMA_TUNEDSCHEDULES_H
