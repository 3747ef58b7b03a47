//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The time of the epilogue of a wgmma kernel.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SCHEDULE_WGMMA_WGMMAEPILOGUETIME_H
#define TENON_LIB_SCHEDULE_WGMMA_WGMMAEPILOGUETIME_H

#include "Schedule/Prediction/LayerProblem.h"

namespace mlir::tenon {

/// Whether a kernel of family wgmma gives sums over the batch of what a heavy
/// epilogue computes, most often of an operand of the product's shape, and has
/// what it adds up in registers.
bool sumsInRegisters(const LayerProblem &problem, ScheduleAttr schedule);

/// Seconds of the epilogue of one tile of family wgmma.
double predictWgmmaEpilogue(const LayerProblem &problem, ScheduleAttr schedule);

} // namespace mlir::tenon

#endif // TENON_LIB_SCHEDULE_WGMMA_WGMMAEPILOGUETIME_H
