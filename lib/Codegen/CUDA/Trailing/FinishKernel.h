//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kernel that normalises columns beside the product that still runs.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TRAILING_FINISHKERNEL_H
#define TENON_LIB_CODEGEN_CUDA_TRAILING_FINISHKERNEL_H

#include "Progress.h"

#include "tenon/Dialect/Tenon/IR/Tenon.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace mlir::tenon {

/// Why no finishing kernel does what follows the only reduction of a layer's
/// region `body`; "" if one does.
std::string findFinishProblem(Block &body);

/// Replaces `rest`, on memrefs, whose one reduction is given the moments of
/// `ProgressLayout::kFlagRows` rows each, by the launch of a kernel that comes
/// into `module`; its name is added to `kernels`.
///
/// The kernel runs beside the one launched before it, a product that fills
/// `progress`, and takes units of work by tickets: span by span of columns,
/// first units that combine a few columns' moments, then units that normalise
/// some rows. A unit waits for the product and for units of lower number alone,
/// which running warps have, so some unit always goes on.
///
/// `m` is the number of rows (i64), not 0: else nobody has cleared `progress`.
/// Of `layout` the span is set here.
LogicalResult lowerFinish(EpilogueOp rest, Value m, Value progress,
                          ProgressLayout layout, gpu::GPUModuleOp module,
                          SmallVectorImpl<Attribute> &kernels);

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TRAILING_FINISHKERNEL_H
