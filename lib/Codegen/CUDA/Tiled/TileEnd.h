//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block's turns, and what becomes of their accumulators.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_TILEEND_H
#define TENON_LIB_CODEGEN_CUDA_TILED_TILEEND_H

#include "WorkPartition.h"

namespace mlir::tenon {

/// The turn at hand, kept in shared memory until its main loop is over.
class KeptTurn {
public:
  explicit KeptTurn(TiledFrame &frame);

  // All lanes of a warp call these, with the same values.
  void store(Value number, const WorkItem &item);
  /// Finds the tile of the turn `step` turns later, for `advance` to take: its
  /// divisions are better done while products are computed than between turns.
  /// With stream-K, where a turn has more numbers than there is room for,
  /// `advance` finds it.
  void prepareNext(WorkPartition &partition, int64_t step);
  void advance(WorkPartition &partition, int64_t step);
  Value getNumber() { return number.load(); }
  WorkItem getItem();

private:
  TiledFrame &frame;
  KeptScalar number, row, column, kBegin, kCount;
  KeptScalar nextRow, nextColumn; ///< without stream-K
};

/// Emits `body` for each turn that is left; it stores the next one.
void emitTurns(TiledFrame &frame, WorkPartition &partition, KeptTurn &turn,
               llvm::function_ref<void()> body);

/// A tile's front goes to the workspace; its end is completed with what other
/// blocks left there, and given to `finish`.
void emitTileEnd(TiledFrame &frame, WorkPartition &partition, KeptTurn &turn,
                 ValueRange accumulators,
                 llvm::function_ref<void(ValueRange)> finish);

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_TILEEND_H
