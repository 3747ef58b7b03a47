//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tiled layer as a product and what follows it beside it.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TRAILING_TRAILINGREDUCTION_H
#define TENON_LIB_CODEGEN_CUDA_TRAILING_TRAILINGREDUCTION_H

#include "../Tiled/SeparateReduction.h"
#include "Progress.h"

namespace mlir::tenon {

/// Says why no kernel can finish the columns of `op` beside its product's; ""
/// if one can.
std::string findTrailingProblem(TiledLinearOp op);

/// What is between the product and the rest.
struct TrailingBuffers {
  Value reduced, moments, progress;
};

/// Creates those for `m` (i64) rows, where no output of `op` can be one.
TrailingBuffers createTrailingBuffers(ImplicitLocOpBuilder &b, TiledLinearOp op,
                                      const ProgressLayout &layout, Value m);

/// Creates, at `builder`, ops on memrefs that do what `op` does: a product that
/// gives moments and, in the place of its workspace, marks what it has stored,
/// and a rest that takes the moments. The product's yield has both, which no
/// verifier knows: it is to become a kernel at once.
SeparateReduction createTrailingReduction(OpBuilder &builder, TiledLinearOp op,
                                          const TrailingBuffers &buffers);

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TRAILING_TRAILINGREDUCTION_H
