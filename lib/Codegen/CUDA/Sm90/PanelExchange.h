//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Blocks whose tiles have the same columns exchange states of a reduction.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_SM90_PANELEXCHANGE_H
#define TENON_LIB_CODEGEN_CUDA_SM90_PANELEXCHANGE_H

#include "FragmentStates.h"

namespace mlir::tenon {

/// A panel is the tiles of the same columns; its blocks take them in the same
/// turn (WorkPartition.h) and are resident together, so they may wait for each
/// other.
///
/// The workspace has a flag (i64) for each block, and a state for each column
/// of a block's tile, twice: for even turns and for odd ones. A block that has
/// stored the states of its turn t marks them: its flag becomes the launch's
/// token + t, which no earlier launch had and memory does not hold by chance.
/// It overwrites them in turn t + 2, when the others have marked turn t + 1 and
/// so need no more of turn t. After the last turn each block marks once more,
/// and the first one of the panel then clears the flags: a replayed launch,
/// whose token is the same, starts without them.
class PanelExchange {
public:
  PanelExchange(TiledFrame &frame, ReductionEpilogueOp reduction);

  /// Stores this tile's state of a column.
  void store(Value turn, Value inTile, ArrayRef<Value> scalars);
  /// Marks what all threads have stored; comes after their barrier.
  void mark(Value turn);
  /// Waits until the panel's blocks have marked the turn. All threads call it;
  /// then all of them see the states.
  void wait(Value turn);
  /// The state of a column, of all rows: of the tiles in their order, so that
  /// all blocks get the same bits.
  ReductionState combine(Value turn, Value inTile);
  /// After `turns` turns, if there were any; all threads call it.
  void finish(Value turns);

private:
  Value getBlock(Value rowTile);
  Value getFlag(Value block);
  Value getState(Value turn, Value block, Value inTile);
  void emitForBlocks(llvm::function_ref<void(Value)> body);
  void waitInWarp(Value turn);
  ReductionState loadTiles(Value turn, Value inTile, Value first, int64_t count,
                           int64_t rows);
  ReductionState loadFullTiles(Value turn, Value inTile);

  TiledFrame &frame;
  KernelBuilder &b;
  ReductionEpilogueOp reduction;
  int64_t blocks;    ///< of a panel; the last may have no rows
  int64_t fullTiles; ///< all of whose rows exist
  int64_t restRows;  ///< of the tile after them
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_SM90_PANELEXCHANGE_H
