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

/// What `tenon.moments` gives of each 64 rows. With swapped
/// operands four neighbouring lanes have a column's rows, 16 each, so they are
/// reduced where they are, and lanes meet by two shuffles.
///
/// Elements wait in registers, where accumulators were, until there are 64 rows
/// of them: those of 16 bits as the words that are stored. Of sums what there
/// is of them waits.
class SwappedMoments {
public:
  /// Columns of every 64 that a thread has.
  static constexpr unsigned kColumns = 2;

  /// `output`: the result of the op.
  SwappedMoments(TiledFrame &frame, MomentsOp op, unsigned output);

  Value getInput() { return op.getInput(); }

  /// Adds the thread's next rows: elements of the first column, then those of
  /// the other, or words of two rows. `inRange`: by row, or none where M cuts
  /// none.
  void add(ValueRange elements, ArrayRef<Value> inRange);
  /// Reduces the first 64 rows that wait, of which `row` is the first, and
  /// stores what exists. `columns`: i64; `inRange`: null, if all are.
  void store(Value row, ArrayRef<Value> columns, ArrayRef<Value> inRange);

private:
  void addToSum(unsigned column, ArrayRef<Value> rows, ArrayRef<Value> inRange);
  SmallVector<Moments> takeMoments(Value row, Value part);
  SmallVector<Moments> takeSums();
  SmallVector<Value> takeRows(SmallVector<Value> &ofColumn);
  SmallVector<Value> extend(ArrayRef<Value> rows);

  TiledFrame &frame;
  KernelBuilder &b;
  MomentsOp op;
  Type elementType;
  unsigned output;
  ColumnMoments reducer;
  SmallVector<Value> waiting[kColumns];
  int64_t numSummed = 0; ///< rows, of sums
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_SWAPPED_SWAPPEDMOMENTS_H
