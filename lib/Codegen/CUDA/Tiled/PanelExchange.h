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

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_PANELEXCHANGE_H
#define TENON_LIB_CODEGEN_CUDA_TILED_PANELEXCHANGE_H

#include "PanelEnd.h"

namespace mlir::tenon {

/// A panel is the tiles of the same columns; its blocks take them in the same
/// turn (WorkPartition.h) and are resident together, so they may wait for each
/// other.
///
/// The same thread of each block has a column. It overwrites the state of turn
/// t in turn t + 2, when it has seen those of turn t + 1, whose writers had
/// read all of turn t before. A replayed launch brings the same token, so no
/// tag may be left: an idle warp clears them when the last turn's states are
/// read.
///
/// Where products hide what an exchange takes, `hasFinisher`, a warp that does
/// not multiply does it: one block's combines the states of a column, and
/// publishes what comes of them for all blocks, in words with the same tags
/// behind the states. Who has read those of a turn knows that the states of the
/// turn have been read.
class PanelExchange {
public:
  PanelExchange(TiledFrame &frame, ReductionEpilogueOp reduction,
                bool hasFinisher);

  const bool hasFinisher;

  /// Publishes this tile's state of a column.
  void store(Value turn, Value inTile, const ReductionState &state);
  /// The state of a column, of all rows: waits for the tiles' states, and
  /// combines them in their order, so that all blocks get the same bits. Comes
  /// after `store` for all columns of the thread.
  ReductionState combine(Value turn, Value inTile);

  PanelMemory memory;
  PanelEnd end;

private:
  ReductionState loadTiles(Value turn, Value inTile, Value first, int64_t count,
                           llvm::function_ref<Value(int64_t)> getRows);
  ReductionState loadBatches(Value turn, Value inTile, Value end, int64_t rows);
  ReductionState loadFullTiles(Value turn, Value inTile);
  ReductionState combineAnyTiles(Value turn, Value inTile);

  TiledFrame &frame;
  KernelBuilder &b;
  ReductionEpilogueOp reduction;
  int64_t batch;         ///< tiles whose states are loaded together
  bool isStatic;         ///< whether M is; the rest is not known else
  int64_t fullTiles = 0; ///< all of whose rows exist
  int64_t restRows = 0;  ///< of the tile after them
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_PANELEXCHANGE_H
