//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// States of a reduction, of the rows that a warp has in registers.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_FRAGMENTSTATES_H
#define TENON_LIB_CODEGEN_CUDA_TILED_FRAGMENTSTATES_H

#include "WorkPartition.h"

namespace mlir::tenon {

/// A reduction's state of `count` elements, a float: of what each has more than
/// `origin`. What origin and a small mean are in two numbers loses digits when
/// it is rounded to one, and those are what other states differ from it by.
struct ReductionState {
  Value count;
  SmallVector<Value> scalars;
  Value origin; ///< null within FragmentStates, which has it by column
};

/// The union of `states`, as a tree that is the same each time. Its origin is
/// that of the first.
ReductionState combineAll(KernelBuilder &b, ReductionEpilogueOp reduction,
                          SmallVector<ReductionState> states);

/// Reduces accumulators, or what was made of them, over a warp's rows of a
/// tile. Rows beyond M do not count.
///
/// The 8 lanes that have the same columns have other rows each. They take
/// kColumns columns at a time and exchange states in three steps. In each a
/// lane keeps half of its columns and hands the others to a lane of other rows,
/// from which it gets as many: in the end it has one column, of all rows.
///
/// Elements are taken relative to an origin, that of the warp's first row in
/// their column, which keeps the digits of small differences between large
/// numbers. Origins lie in shared memory: there they cost fewer instructions
/// than shuffles.
class FragmentStates {
public:
  /// Columns of a group: 8 of each of the 4 lanes of a row.
  static constexpr int64_t kColumns = 32;
  static constexpr int64_t kOriginBytesPerColumn = 4;

  /// `memory` is the warp's own, for the origins of its columns of the tile.
  FragmentStates(TiledFrame &frame, ReductionEpilogueOp reduction,
                 const WorkItem &item, Value memory);

  /// Comes before `reduce`, with the same elements.
  void storeOrigins(ValueRange elements);
  /// The state of one column of a group, by number, of distances from its
  /// origin. `elements` are the thread's, as WarpgroupProduct gives
  /// accumulators.
  SmallVector<Value> reduce(ValueRange elements, int64_t group);
  /// Which column of the group it is.
  Value getColumn();

private:
  void countRows(const WorkItem &item);
  Value getOrigin(Value inTile);
  ReductionState reduceRows(ValueRange elements, int64_t column, Value origin);
  SmallVector<ReductionState> exchange(ArrayRef<ReductionState> columns,
                                       unsigned step);

  TiledFrame &frame;
  KernelBuilder &b;
  ReductionEpilogueOp reduction;
  Value memory;
  int64_t rowBlocks;
  SmallVector<Value> inRange; ///< by row of the thread; none: all are
  /// Rows of a lane's columns before each step, and of what it gets then.
  SmallVector<Value> counts, received;
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_FRAGMENTSTATES_H
