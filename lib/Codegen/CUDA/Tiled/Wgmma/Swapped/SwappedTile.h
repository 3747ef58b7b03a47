//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the subtiles of a tile with swapped operands share.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_SWAPPED_SWAPPEDTILE_H
#define TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_SWAPPED_SWAPPEDTILE_H

#include "Codegen/CUDA/Tiled/Wgmma/Subtiles/SubtileCopies.h"
#include "SwappedColumns.h"
#include "SwappedMoments.h"
#include "SwappedRows.h"

namespace mlir::tenon {

struct SwappedTile {
  SwappedTile(TiledFrame &frame, TiledLinearOp op,
              std::optional<EpilogueSubtiles> subtiles);

  /// Null if the threads move all themselves.
  SubtileCopies *getCopies() { return copies ? &*copies : nullptr; }
  /// Adds elements of a block of `value`, or words of two as they are stored.
  /// `inRange`: of the rows, or none.
  void addMoments(Value value, ValueRange elements, ArrayRef<Value> inRange);
  /// Those of each 64 rows that subtile `number` ends.
  void storeMoments(const WorkItem &item, int64_t number);
  /// What the region reduces and does not store.
  SmallVector<Value> getUnstored();
  /// The first row of a subtile in the tile.
  Value getFirstRow(Value number);
  /// The first of a thread's columns that a subtile has; where `number` is
  /// found out at run time, that of all that are held.
  unsigned getFirstColumn(Value number);
  void forgetOperands();
  void end();

  TiledFrame &frame;
  KernelBuilder &b;
  TiledLinearOp op;
  std::optional<SubtileCopies> copies;
  SwappedPlan plan;
  SwappedRows rows;
  SwappedColumns columns;

private:
  SmallVector<SwappedMoments> moments;
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_SWAPPED_SWAPPEDTILE_H
