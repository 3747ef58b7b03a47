//===- BlasLtMatch.h - What cuBLASLt can do of an epilogue -----*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_PRODUCTS_BLASLTMATCH_H
#define TENON_LIB_CODEGEN_CUDA_PRODUCTS_BLASLTMATCH_H

#include "tenon/Dialect/BlasLt/IR/BlasLt.h"
#include "tenon/Dialect/Tenon/IR/Tenon.h"
#include "tenon/Remarks/Reason.h"

namespace mlir::tenon {

/// What goes into a plan beside the product.
struct BlasLtMatch {
  double alpha = 1.0;
  /// Values outside the region; null where absent.
  Value residual, bias, xScale, wScale;
  blaslt::Scales scales = blaslt::Scales::None;
  blaslt::Activation activation = blaslt::Activation::None;
  /// Of a fused layer: the region's value that the plan computes.
  Value end;
  /// Why the whole epilogue does not fit; none if it does.
  std::optional<Reason> obstacle;
};

/// What a cuBLASLt product has of what the layer computes, by itself: all of
/// it; of 16 bits what comes before the obstacle, and of 8 what comes before
/// the cast to 16; of others then the product alone.
BlasLtMatch matchBlasLt(FusedLinearOp op);

/// How cuBLASLt computes a product of `type` that is as accurate as asked.
blaslt::Compute getCompute(Type type, std::optional<Precision> precision);

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_PRODUCTS_BLASLTMATCH_H
