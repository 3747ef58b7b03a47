//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Mean and M2 of columns whose rows some lanes of a warp share.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_SUBTILES_COLUMNMOMENTS_H
#define TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_SUBTILES_COLUMNMOMENTS_H

#include "Codegen/CUDA/Tiled/TiledFrame.h"

namespace mlir::tenon {

/// Of some rows and a column. The mean is relative to the origin, if that is
/// not null.
struct Moments {
  Value origin, mean, m2;
};

/// Which lanes have rows of the same columns: those whose numbers differ in the
/// bits from `firstBit` to the one before `endBit`. Each has `rows` of them.
struct MomentLanes {
  int64_t rows, firstBit, endBit;
};

/// Moments of the 64 rows of each of some columns, or those that M leaves them.
///
/// A thread's M2 is of one pass: squares of distances from its first row, less
/// what the mean of the distances has of them. As the row is one of n, that is
/// at most n - 1 parts of n of the squares, so few bits cancel; sums of n = 64
/// rows relative to one of them could lose too many. Then moments are combined
/// with the other lanes', in f32 relative to the first row of all, or rounding
/// a large mean would lose what rows differ by; 16 bits differ by more than
/// that.
///
/// Rows that M cuts are reduced in two passes over all lanes.
class ColumnMoments {
public:
  using Columns = SmallVector<SmallVector<Value>>;

  /// With `sums` the mean is the sum, relative to nothing, and there is no M2.
  ColumnMoments(TiledFrame &frame, MomentLanes lanes, bool sums)
      : frame(frame), b(frame.b), lanes(lanes), sums(sums) {}

  /// Reduces what the thread has of rows from `row` on. `origins`: by column;
  /// `load` gives its values by column, and `getRow` the number of one of its
  /// rows among the 64.
  SmallVector<Moments> reduce(Value row, ArrayRef<Value> origins,
                              llvm::function_ref<Columns()> load,
                              llvm::function_ref<Value(int64_t)> getRow);
  /// Makes what lanes have of a column the same in all: that of all rows.
  void combine(Moments &ofColumn);
  /// Of a column the row of tenon.moments that `part` says, in f32: the mean,
  /// M2 or, where there is an origin, the rest of the mean; or the sum.
  Value getScalar(const Moments &ofColumn, Value part);
  /// Where tenon.moments, of `scalars` rows each, has it of the 64 rows from
  /// `row` on and of the first column.
  Value getPlace(Value row, Value part, int64_t scalars);

private:
  Moments reduceWhole(SmallVector<Value> values, Value origin);
  Moments reduceCut(SmallVector<Value> values, Value origin,
                    ArrayRef<Value> inRange, Value share);
  SmallVector<Value> reduceColumns(ArrayRef<Value> origins,
                                   const Columns &columns,
                                   ArrayRef<Value> inRange, Value share);

  TiledFrame &frame;
  KernelBuilder &b;
  MomentLanes lanes;
  bool sums;
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_SUBTILES_COLUMNMOMENTS_H
