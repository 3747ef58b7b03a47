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

#ifndef TENON_SCHEDULE_CHECKS_LAYERKERNELS_H
#define TENON_SCHEDULE_CHECKS_LAYERKERNELS_H

#include "tenon/Dialect/Tenon/IR/Tenon.h"
#include "tenon/Remarks/Reason.h"

namespace mlir::tenon {

/// What `layer` runs as with `schedule` once x and w fit the kernel.
SmallVector<KernelKind> listKernels(LinearLikeOp layer, ScheduleAttr schedule);

/// What an epilogue runs as that has what a product alone leaves of `layer`.
KernelKind getEpilogueKernel(LinearLikeOp layer);

} // namespace mlir::tenon

#endif // TENON_SCHEDULE_CHECKS_LAYERKERNELS_H
