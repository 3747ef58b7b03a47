//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The moments of a subtile's columns, from its values in shared memory.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_SUBTILES_SUBTILEMOMENTS_H
#define TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_SUBTILES_SUBTILEMOMENTS_H

#include "ColumnMoments.h"
#include "EpilogueSubtiles.h"

namespace mlir::tenon {

/// What `tenon.moments` gives of a subtile: of its 64 rows, or those that M
/// leaves it, as they are stored.
///
/// A thread takes one word of a row, an f32 or a pair of 16 bits, in as many
/// rows as make equal work for the warpgroup's 128 threads: each warp a quarter
/// of the words, and of its lanes those with the same word a part of the rows
/// each. A warp's loads meet no bank conflict, but for rows of 32 bytes: there
/// its words lie in half of the banks.
class SubtileMoments {
public:
  SubtileMoments(TiledFrame &frame, const SubtileTensor &tensor, bool sums);

  /// Reduces the thread's part of a subtile whose first row is `row`.
  /// `memory`: the first byte of its buffer, which is not read later.
  void read(Value memory, Value row);
  /// Stores what was read to `output`, of a subtile whose first row this is,
  /// and whose first column lies `inTile` columns after `column`; nothing of
  /// rows beyond M or columns beyond N.
  void store(Value output, Value row, Value column, int64_t inTile);

private:
  int64_t rowsOfThread() const { return EpilogueSubtiles::kRows / parts; }
  int64_t columnsOfWord() const { return 4 / tensor.elementBytes(); }
  int64_t getRow(int64_t index) const;
  Value getWord();
  Value getPart();
  SmallVector<Value> getPlaces(Value memory);
  SmallVector<Value> load(Value place);
  ColumnMoments::Columns loadColumns(ArrayRef<Value> places);
  ColumnMoments getReducer();

  TiledFrame &frame;
  KernelBuilder &b;
  const SubtileTensor &tensor;
  bool sums;
  int64_t words; ///< of a row, that the warp has
  int64_t parts; ///< that rows are divided into
  /// The thread takes `neighbours` rows in each `stride`.
  int64_t neighbours, stride;
  SmallVector<Moments> columns;
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_SUBTILES_SUBTILEMOMENTS_H
