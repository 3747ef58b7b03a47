//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// gelu beside a product of tf32: terms of its polynomial that such a product's
// error hides are left out.
//
//===----------------------------------------------------------------------===//

#include "ApproximateGelu.h"

#include "mlir/Analysis/SliceAnalysis.h"

using namespace mlir;
using namespace mlir::tenon;

void tenon::approximateGelu(TiledLinearOp op) {
  llvm::SetVector<Operation *> ofProduct;
  for (Value product : op.getAccumulators())
    getForwardSlice(product, &ofProduct);
  for (Operation *user : ofProduct) {
    auto gelu = dyn_cast<GeluOp>(user);
    if (gelu && gelu.getType().getElementType().isF32() &&
        gelu.getApproximate() == GeluApproximation::None)
      gelu.setApproximate(GeluApproximation::TF32);
  }
}
