//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds the split of a matrix, or makes it.
//
//===----------------------------------------------------------------------===//

#include "SplitOperands.h"

using namespace mlir;
using namespace mlir::tenon;

Value tenon::lookThroughSplit(Value operand) {
  auto split = operand.getDefiningOp<WithSplitOp>();
  return split ? lookThroughSplit(split.getX()) : operand;
}

std::pair<Value, Value> tenon::getSplit(Value operand, bool transposed,
                                        unsigned parts, Location loc,
                                        OpBuilder &builder) {
  auto type = cast<RankedTensorType>(operand.getType());
  int64_t k = type.getDimSize(transposed ? 0 : 1);
  auto known = operand.getDefiningOp<WithSplitOp>();
  if (known && known.getTransposed() == transposed &&
      known.getHalves().getType().getDimSize(1) ==
          SplitOp::getNumColumns(k, parts))
    return {known.getHalves(), known.getFactors()};
  auto split = SplitOp::create(builder, loc, lookThroughSplit(operand), parts,
                               transposed);
  return {split.getHalves(), split.getFactors()};
}
