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

std::pair<Value, Value> tenon::getSplit(Value operand, unsigned parts,
                                        Location loc, OpBuilder &builder) {
  auto type = cast<RankedTensorType>(operand.getType());
  auto known = operand.getDefiningOp<WithSplitOp>();
  if (known && known.getHalves().getType().getDimSize(1) ==
                   SplitOp::getNumColumns(type.getDimSize(1), parts))
    return {known.getHalves(), known.getFactors()};
  auto split = SplitOp::create(builder, loc, lookThroughSplit(operand), parts);
  return {split.getHalves(), split.getFactors()};
}
