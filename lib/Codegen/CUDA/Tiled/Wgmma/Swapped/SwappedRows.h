//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operands that have one value a row, in a tile with swapped operands.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_SWAPPED_SWAPPEDROWS_H
#define TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_SWAPPED_SWAPPEDROWS_H

#include "Codegen/CUDA/Tiled/WorkPartition.h"
#include "SwappedPlan.h"

namespace mlir::tenon {

/// A thread needs two rows of each 8, each subtile others. Loaded when it is
/// computed they would be waited for each time. A lane loads one of each 32
/// ahead, and has the others from where they are; in a loop a thread loads its
/// own of a step, when it is done with the step before.
class SwappedRows {
public:
  SwappedRows(TiledFrame &frame, const SwappedPlan &plan)
      : frame(frame), b(frame.b), plan(plan) {}

  /// Whether operands are loaded before they are needed.
  bool areAhead() const;
  /// Loads what subtiles `first` to `end` need.
  void prepare(const WorkItem &item, int64_t first, int64_t end);
  /// Whether something is.
  bool isPrepared() const { return !values.empty(); }
  /// Of number `operand` of those loaded ahead, the value of row `row` of the
  /// thread's two of a block, which begins with the tile's row `first`.
  Value get(unsigned operand, Value first, unsigned row);
  void forget() { values.clear(); }

  /// Loads of each operand what the thread has of blocks `begin` to `end` of a
  /// subtile, whose first row in the tile is `inTile`.
  SmallVector<Value> loadBlocks(const WorkItem &item, Value inTile,
                                int64_t begin, int64_t end);

private:
  /// What the lane has of `operand` for `count` rows from the tile's
  /// `first`-th.
  SmallVector<Value> load(const WorkItem &item, BlockArgument operand,
                          int64_t first, int64_t count);
  /// What `operand` has for an even row and the next, in its compute type.
  SmallVector<Value> loadPair(BlockArgument operand, Value row);

  TiledFrame &frame;
  KernelBuilder &b;
  const SwappedPlan &plan;
  /// Of each operand, if it is loaded ahead, what the lane has of each 32 rows
  /// from the tile's `firstAhead`-th on.
  SmallVector<SmallVector<Value>> values;
  int64_t firstAhead = 0;
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_SWAPPED_SWAPPEDROWS_H
