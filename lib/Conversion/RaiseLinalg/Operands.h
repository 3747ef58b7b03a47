//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What tensors of linalg ops are in the end: numbers, or others that are
// read in another order.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CONVERSION_RAISELINALG_OPERANDS_H
#define TENON_LIB_CONVERSION_RAISELINALG_OPERANDS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::tenon {

/// A tensor as a linalg op reads it: `map` goes from the op's loops to indices.
struct View {
  Value tensor;
  AffineMap map;
};

/// What `view` reads, through copies, transpositions, broadcasts and reshapes
/// that add or drop extents of 1.
View lookThrough(View view);

/// The number that a scalar, or each element of a tensor, is; null if unknown.
TypedAttr getNumber(Value value);

/// Whether tenon ops take tensors of this type.
bool isTenonTensor(Type type);

/// `value` in another shape, which has the same extents but for those of 1, or
/// is as static as that; null if there are none such.
Value reshape(OpBuilder &builder, Location loc, Value value,
              RankedTensorType type);

/// What the op writes with its only result, as it is read.
inline View getInit(linalg::LinalgOp op) {
  OpOperand *init = op.getDpsInitOperand(0);
  return {init->get(), op.getMatchingIndexingMap(init)};
}

} // namespace mlir::tenon

#endif // TENON_LIB_CONVERSION_RAISELINALG_OPERANDS_H
