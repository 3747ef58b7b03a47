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

/// The turn at hand, which a warp keeps until it is over: its number, and where
/// that is in shared memory, what is computed of it.
class KeptTurn {
public:
  KeptTurn(TiledFrame &frame, WorkPartition &partition);

  /// Goes to a turn; all lanes of a warp do.
  void store(Value number);
  void advance(int64_t step) { store(frame.b.add(getNumber(), step)); }
  Value getNumber();
  WorkItem getItem();
  /// Whether the block has it.
  Value exists() { return partition.hasTurn(getNumber()); }

private:
  TiledFrame &frame;
  WorkPartition &partition;
  KeptScalar number;
  bool keepsItem;
  KeptScalar row, column, kBegin, kCount;
};

/// Emits `body` for each turn that is left; it stores the next one.
void emitTurns(TiledFrame &frame, KeptTurn &turn,
               llvm::function_ref<void()> body);

/// A tile's front goes to the workspace; its end is completed with what other
/// blocks left there, and given to `finish`.
void emitTileEnd(TiledFrame &frame, WorkPartition &partition, KeptTurn &turn,
                 ValueRange accumulators,
                 llvm::function_ref<void(ValueRange)> finish);

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_TILEEND_H
