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

#include "tenon/Schedule/Checks/LayerKernels.h"

#include "tenon/Schedule/Checks/EpilogueObstacle.h"

using namespace mlir;
using namespace mlir::tenon;

KernelKind tenon::getEpilogueKernel(LinearLikeOp layer) {
  Block *body = layer.getEpilogueBody();
  return body && !body->getOps<BatchNormTrainingOp>().empty()
             ? KernelKind::ReduceMap
             : KernelKind::Epilogue;
}

SmallVector<KernelKind> tenon::listKernels(LinearLikeOp layer,
                                           ScheduleAttr schedule) {
  SmallVector<KernelKind> kernels;
  ReductionMethod reduction = schedule.getReduction();
  if (reduction == ReductionMethod::InputMoments)
    kernels.push_back(KernelKind::Moments);
  kernels.push_back(KernelKind::Tiled);
  if (schedule.isSplit())
    kernels.push_back(KernelKind::Guard);
  if (reduction == ReductionMethod::TwoPhase)
    kernels.push_back(KernelKind::Map);
  else if (reduction == ReductionMethod::Separate &&
           findEpilogueObstacle(layer))
    kernels.push_back(getEpilogueKernel(layer));
  else if (reduction == ReductionMethod::ReduceOnly)
    kernels.push_back(KernelKind::Epilogue);
  return kernels;
}
