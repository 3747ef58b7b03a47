//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A matrix with its halves beside it: verification.
//
//===----------------------------------------------------------------------===//

#include "tenon/Dialect/Tenon/IR/Tenon.h"

using namespace mlir;
using namespace mlir::tenon;

LogicalResult WithSplitOp::verify() {
  RankedTensorType x = getX().getType(), halves = getHalves().getType(),
                   factors = getFactors().getType();
  // with_split-C1
  if (!x.getElementType().isF32())
    return emitOpError("needs x of f32, which tenon.split splits, but x is ")
           << x;
  int64_t m = x.getDimSize(getTransposed() ? 1 : 0);
  int64_t k = x.getDimSize(getTransposed() ? 0 : 1);
  int64_t columns = halves.getDimSize(1);
  // with_split-C2
  if (!halves.getElementType().isF16() || halves.getDimSize(0) != m ||
      (columns != SplitOp::getNumColumns(k, 1) &&
       columns != SplitOp::getNumColumns(k, 2)))
    return emitOpError("needs the halves that tenon.split gives for ")
           << x << ", f16 [M, " << SplitOp::getNumColumns(k, 1)
           << "] in one part or [M, " << SplitOp::getNumColumns(k, 2)
           << "] in two, but has " << halves;
  // with_split-C3
  if (!factors.getElementType().isF32() ||
      factors.getShape() != ArrayRef<int64_t>{m, 1})
    return emitOpError("needs the factors that tenon.split gives for ")
           << x << ", f32 [M, 1], but has " << factors;
  return success();
}
