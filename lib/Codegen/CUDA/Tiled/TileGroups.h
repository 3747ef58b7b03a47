//===- TileGroups.h - Groups of a tile's columns, reduced -------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_TILEGROUPS_H
#define TENON_LIB_CODEGEN_CUDA_TILED_TILEGROUPS_H

#include "ReducedInput.h"

namespace mlir::tenon {

/// reduction = in_tile, where a region reduces groups of columns: each lies in
/// one warp's part of a tile, in a thread (2 columns), two lanes (4), or the
/// four lanes that have a row. Warps meet nowhere, and all that was found stays
/// in registers: what follows is computed in the accumulators' place.
class TileGroups {
public:
  /// The op's region has been cut, and what it yields taken (Emit/RowPhases.h).
  TileGroups(TiledFrame &frame, TiledLinearOp op, const WorkItem &item);

  /// Reduces a tile's groups, and stores what the op yields of one value a
  /// group. Returns what it yields of the product's shape.
  SmallVector<Value> emit(ValueRange accumulators);

private:
  /// Of each of the thread's rows.
  using States = SmallVector<ReduceRowOp::State>;
  using Results = SmallVector<Value>;

  Value getFirstNumber();
  Results reduce(const RowPhase &phase, ColumnBlocks columns,
                 ValueRange elements);
  void keepResults();
  void storeResults();

  TiledFrame &frame;
  KernelBuilder &b;
  TiledLinearOp op;
  const WorkItem &item;
  int64_t numRows; ///< of a thread
  int64_t groupColumns;
  int64_t sharingLanes;   ///< those of a row that have one group
  int64_t blocksTogether; ///< of 8 columns: of a group, or with several
  SmallVector<Value> rows, clampedRows; ///< the thread's
  /// Of each result of one value a group: of all rows, one set of blocks after
  /// the other.
  SmallVector<std::pair<Value, Results>> found;
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_TILEGROUPS_H
