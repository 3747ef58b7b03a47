//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reduces columns of a tile whose product has swapped operands.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_SWAPPED_SWAPPEDSTATES_H
#define TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_SWAPPED_SWAPPEDSTATES_H

#include "Codegen/CUDA/Tiled/FragmentStates.h"

namespace mlir::tenon {

/// With swapped operands the tile's rows of a column are those of four
/// neighbouring lanes: of every 8 rows each has two. So a column is reduced
/// where its elements are, and lanes meet by two shuffles.
class SwappedStates {
public:
  /// Of the rows of `item`, those that exist.
  SwappedStates(TiledFrame &frame, ReductionEpilogueOp reduction,
                const WorkItem &item);

  /// The state of the tile's rows of a column. `elements` are the thread's, in
  /// the order of rows; they become distances from the state's origin.
  ReductionState reduce(MutableArrayRef<Value> elements);

private:
  void countRows(const WorkItem &item);
  Value maskMissing(Value value, int64_t number, Value own);
  Value getOrigin(ValueRange elements, Value own);

  TiledFrame &frame;
  KernelBuilder &b;
  ReductionEpilogueOp reduction;
  /// Rows from the lane's first to the end of x; null: the tile has all.
  Value left;
  /// Rows of a lane before each shuffle, and of what it gets then.
  SmallVector<Value> counts, received;
  Value share; ///< of a row in the mean of those that are sampled
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_SWAPPED_SWAPPEDSTATES_H
