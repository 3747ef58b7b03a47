//===- SplitArithmetic.h - tenon.split on scalars ---------------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What `tenon.split` computes of one row and of one element, for the back ends
// to put into loops. Values are scalars, or vectors of one shape. The ops have
// no fast-math flags: every bit of the results is defined.
//
// A row goes by twice. First the largest `emitMagnitudeBits` is found, as
// signed i32, and `emitSplitScale` makes the row's scale of it. Then
// `emitSplitElement` gives the parts and a score, whose sum over the row tells
// `emitRowIsOutside`.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_TENON_IR_SPLITARITHMETIC_H
#define TENON_DIALECT_TENON_IR_SPLITARITHMETIC_H

#include "mlir/IR/Builders.h"

namespace mlir::tenon {

/// The bits of |x| as i32; in the order of the magnitudes, NaNs last.
Value emitMagnitudeBits(OpBuilder &builder, Location loc, Value x);

/// Powers of two, of f32.
struct SplitScale {
  /// 1 / |f|, with which elements are multiplied.
  Value scale;
  /// |f|, the magnitude of the row's factor.
  Value factor;
};

/// Of the largest magnitude's bits in a row.
SplitScale emitSplitScale(OpBuilder &builder, Location loc, Value largestBits);

/// One element.
struct SplitElement {
  /// f16.
  Value hi;
  /// f16; null with one part.
  Value lo;
  /// i32: 63 if digits are lost, 1 if few are, as in a long row more may be, -1
  /// if they are kept, and 0 of zero.
  Value score;
};

/// Of `x`, in a row of `k` elements, of `scale`.
SplitElement emitSplitElement(OpBuilder &builder, Location loc, Value x,
                              Value scale, unsigned parts, int64_t k);

/// Whether the row is outside of what the parts can hold (i1).
Value emitRowIsOutside(OpBuilder &builder, Location loc, Value largestBits,
                       Value totalScore, unsigned parts);

/// The row's factor: its magnitude, negative if the row is outside.
Value emitSplitFactor(OpBuilder &builder, Location loc, Value factor,
                      Value isOutside);

} // namespace mlir::tenon

#endif // TENON_DIALECT_TENON_IR_SPLITARITHMETIC_H
