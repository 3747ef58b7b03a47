//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A reduction of an epilogue as linalg: a pass over the rows, then one loop
// over the columns.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CPU_REDUCTIONTOLINALG_H
#define TENON_LIB_CODEGEN_CPU_REDUCTIONTOLINALG_H

#include "tenon/Dialect/Tenon/IR/Tenon.h"

namespace mlir::tenon {

/// What a reduction leaves of its input: tensors, one value a column.
struct ReducedColumns {
  SmallVector<Value> finished; ///< f64: what its map takes beside an element
  SmallVector<Value> results;  ///< its column results, of their own types
};

/// Emits the reduction of `input` [M, N]; `columnOperands` are the tensors of
/// the op's column operands.
ReducedColumns lowerReduction(OpBuilder &builder, ReductionEpilogueOp op,
                              Value input, ValueRange columnOperands);

/// Emits the reduction of each row of `input`, [M, 1] in its compute type; of a
/// place `numbers` are those that stand there, or null.
Value lowerRowReduction(OpBuilder &builder, ReduceRowOp op, Value input,
                        Value numbers);

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CPU_REDUCTIONTOLINALG_H
