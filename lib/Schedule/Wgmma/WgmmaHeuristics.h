//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The time of a kernel of family wgmma.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SCHEDULE_WGMMA_WGMMAHEURISTICS_H
#define TENON_LIB_SCHEDULE_WGMMA_WGMMAHEURISTICS_H

#include "Schedule/Prediction/ScheduleChoice.h"

namespace mlir::tenon {

/// Whether wgmma has so few rows that reading w is nearly all: times are
/// predicted in another way then, and operands may be swapped. Of x and w as
/// they are: split products of so few rows were not measured with them.
bool isFewRows(const LayerProblem &problem);

/// What a schedule of family wgmma comes to.
Prediction predictWgmma(const LayerProblem &problem, ScheduleAttr schedule,
                        const TargetSpec &target);

} // namespace mlir::tenon

#endif // TENON_LIB_SCHEDULE_WGMMA_WGMMAHEURISTICS_H
