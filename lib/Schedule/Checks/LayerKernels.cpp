//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a layer runs as.
//
//===----------------------------------------------------------------------===//

#include "tenon/Schedule/Checks/Schedule.h"

using namespace mlir;
using namespace mlir::tenon;

KernelKind tenon::getEpilogueKernel(Operation *layer) {
  auto fused = dyn_cast<FusedLinearOp>(layer);
  return fused && !fused.getBody()->getOps<BatchNormTrainingOp>().empty()
             ? KernelKind::ReduceMap
             : KernelKind::Epilogue;
}

SmallVector<KernelKind> tenon::listKernels(Operation *layer,
                                           ScheduleAttr schedule) {
  SmallVector<KernelKind> kernels;
  ReductionMethod reduction = schedule.getReduction();
  if (reduction == ReductionMethod::InputMoments)
    kernels.push_back(KernelKind::Moments);
  kernels.push_back(KernelKind::Tiled);
  if (schedule.isSplit())
    kernels.push_back(KernelKind::Guard);
  auto fused = dyn_cast<FusedLinearOp>(layer);
  if (reduction == ReductionMethod::TwoPhase)
    kernels.push_back(KernelKind::Map);
  else if (reduction == ReductionMethod::Separate && fused &&
           findEpilogueObstacle(fused))
    kernels.push_back(getEpilogueKernel(layer));
  return kernels;
}
