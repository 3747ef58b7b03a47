//===- TileMoments.h - Moments of what a tile stores ------------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_TILEMOMENTS_H
#define TENON_LIB_CODEGEN_CUDA_TILED_TILEMOMENTS_H

#include "WorkPartition.h"

namespace mlir::tenon {

/// Emits a `tenon.moments` of the region, for the columns that a warp turns
/// together (TileEpilogue.h). Each thread has a mean and an M2 of each of its
/// columns, to which it adds row after row. They are combined by Chan's rule:
/// among the lanes that have other rows of the same columns, then among the
/// warps, through the staging memory, from the first rows to the last.
///
/// Means are relative to the origin of their warp, an element of its first row:
/// where deviations are far smaller than means, rounding a mean as what it is
/// would lose digits of M2.
///
/// Rows beyond M do not count. A thread's rows go down, so those that count
/// come first, and the divisors of its means are known.
///
/// A wgmma kernel's warp has 16 of each 64 rows of its warpgroup, and each 64
/// rows have moments of their own; otherwise all rows of the tile belong
/// together. What belongs together is a set.
///
/// Sums alone are what the means would be, relative to nothing.
class TileMoments {
public:
  /// `group`: which of the warp's groups of columns; `numSteps`: rows that a
  /// thread will add.
  TileMoments(TiledFrame &frame, MomentsOp op, Value output,
              const WorkItem &item, unsigned group, unsigned numSteps);

  /// Adds a row's elements, one a lane, as their matrix holds them, if
  /// `isInRange` (null: always).
  void add(unsigned step, ArrayRef<Value> elements, Value isInRange);
  /// Combines what all threads have, and stores it. The warps that share
  /// columns meet, and leave their staging memory to be written.
  void finish();

private:
  /// Of some rows and one column.
  struct State {
    Value mean, m2;
  };

  unsigned getStepsPerSet();
  Value broadcastFirstRow(Value value);
  void addToSums(unsigned step, ArrayRef<Value> elements, Value isInRange);
  unsigned getNumSets() { return states.size(); }
  Value getFirstRow(unsigned set);
  Value getCount(Value first, unsigned most);
  Value getCountOfThread(unsigned set);
  void combine(MutableArrayRef<State> states, Value count,
               ArrayRef<State> others, Value otherCount);
  void combineLanes(unsigned set);
  Value getPlace(Value warp, unsigned set, unsigned scalar, Value column);
  void stage(unsigned set);
  SmallVector<Value> combineWarps(unsigned set, Value column);
  void store(unsigned set, Value column);
  void finishSets(unsigned begin, unsigned end);
  void synchronize();

  TiledFrame &frame;
  KernelBuilder &b;
  MomentsOp op;
  Value output;
  WorkItem item;
  unsigned group, numSteps;
  int64_t rowsOfWarp, warps; ///< of a set
  Value warpOfSet;           ///< number of the thread's warp among them
  SmallVector<SmallVector<State>> states;  ///< of the thread, by set and lane
  std::vector<SmallVector<Value>> origins; ///< of its warp, likewise
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_TILEMOMENTS_H
