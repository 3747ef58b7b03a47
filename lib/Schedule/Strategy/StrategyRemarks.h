//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What remarks of all selectors say of a layer.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SCHEDULE_STRATEGY_STRATEGYREMARKS_H
#define TENON_LIB_SCHEDULE_STRATEGY_STRATEGYREMARKS_H

#include "Schedule/Prediction/ScheduleChoice.h"

#include "tenon/Remarks/Reason.h"

namespace mlir::tenon {

/// Says "tiled" or "library", and what decided.
ValuedRemark &sayStrategy(ValuedRemark &remark, Strategy strategy,
                          const Reason &reason);

/// Says by which schedule a layer is, or would be, tiled.
ValuedRemark &saySchedule(ValuedRemark &remark, const ScheduleChoice &choice);

} // namespace mlir::tenon

#endif // TENON_LIB_SCHEDULE_STRATEGY_STRATEGYREMARKS_H
