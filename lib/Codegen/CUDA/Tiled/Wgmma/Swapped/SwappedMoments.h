//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The moments of columns of a tile whose product has swapped operands.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_SWAPPED_SWAPPEDMOMENTS_H
#define TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_SWAPPED_SWAPPEDMOMENTS_H

#include "Codegen/CUDA/Tiled/Wgmma/Subtiles/ColumnMoments.h"

namespace mlir::tenon {

/// What `tenon.moments` gives of each 64 rows, as they are stored. With swapped
/// operands four neighbouring lanes have a column's rows, 16 each, so they are
/// reduced where they are, and lanes meet by two shuffles.
///
/// Elements wait in registers, where accumulators were, until there are 64 rows
/// of them: those of 16 bits as the words that are stored.
class SwappedMoments {
public:
  /// Columns of every 64 that a thread has.
  static constexpr unsigned kColumns = 2;

  /// Of elements of such a type. `output`: the result of the op.
  SwappedMoments(TiledFrame &frame, Type elementType, unsigned output)
      : frame(frame), b(frame.b), elementType(elementType), output(output) {}

  /// Adds the thread's next rows: elements of the first column, then those of
  /// the other, or words of two rows.
  void add(ValueRange elements);
  /// Reduces the first 64 rows that wait, of which `row` is the first, and
  /// stores what exists. `columns`: i64; `inRange`: null, if all are.
  void store(Value row, ArrayRef<Value> columns, ArrayRef<Value> inRange);

private:
  SmallVector<Value> takeRows(SmallVector<Value> &ofColumn);
  SmallVector<Value> extend(ArrayRef<Value> rows);

  TiledFrame &frame;
  KernelBuilder &b;
  Type elementType;
  unsigned output;
  SmallVector<Value> waiting[kColumns];
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_SWAPPED_SWAPPEDMOMENTS_H
