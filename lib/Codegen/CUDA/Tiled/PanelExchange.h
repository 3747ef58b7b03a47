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

#include "FragmentStates.h"

namespace mlir::tenon {

/// A panel is the tiles of the same columns; its blocks take them in the same
/// turn (WorkPartition.h) and are resident together, so they may wait for each
/// other.
///
/// The workspace has a flag (i64) for each block, and a state for each column
/// of a block's tile, twice: for even turns and for odd ones. Each number of a
/// state shares a word of 64 bits with a tag, one half of the launch's token
/// plus the turn. Such a word is written and read at once, so who sees the tags
/// has the numbers: no fence, and one way through L2. No earlier launch had the
/// token, and memory does not hold both tags by chance.
///
/// The second tag has 24 bits. The 8 beside it say what rounding the first
/// number, the mean, left of it (RoundingRest.h).
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
  /// How many blocks a panel has; the last may have no rows.
  Value getBlocks();
  /// Publishes `kWords` f32 at most for a column of the panel.
  void publish(Value turn, Value inTile, ArrayRef<Value> numbers);
  /// Waits for `count` of them that a block has published.
  SmallVector<Value> getPublished(Value turn, Value inTile, size_t count);

  /// Tells the warp beside: all threads that multiply call it when they have
  /// combined the last turn's states, or for a finisher each turn when they
  /// have stored the tile's.
  void arrive();
  /// That warp waits for it.
  void wait();
  /// Clears what the panel's blocks have left in the workspace after `turns`
  /// turns, if there were any. One warp beside those that multiply calls it,
  /// the finisher if there is one.
  void clear(Value turns);

  /// The two parts of that, in kernels without a warp beside: one thread says
  /// that the block has read all states of `turns` turns, and one warp of it
  /// clears what blocks leave that have said so.
  void announce(Value turns);
  void clearWhenRead(Value turns);

private:
  /// Words of a state.
  static constexpr int64_t kWords = kTaggedStateBytes / 8;
  /// How often a place is read in vain. Blocks that are resident together come
  /// within seconds, so that one that waits longer has met a mistake: it stops
  /// the kernel rather than the GPU.
  static constexpr int64_t kMaxTries = 0x2000000;

  struct Tags {
    Value first, second; ///< i32; the second's low 8 bits are 0
  };

  Value getOwnBlock();
  Value getBlock(Value rowTile);
  Value getFlag(Value block);
  Value getState(Value turn, Value block, Value inTile);
  Value getPublishedPlace(Value turn, Value inTile);
  Value getLowHalf(Value word);
  Value getHighHalf(Value word);
  Tags getTags(Value turn);
  void emitForBlocks(llvm::function_ref<void(Value)> body);
  void waitForFlags(Value expected);
  void storeWords(Value place, ArrayRef<Value> words);
  void clearColumns(llvm::function_ref<Value(Value, Value)> getPlace);
  void clearStates();
  SmallVector<Value> loadMissing(Value place, const Tags &tags,
                                 ValueRange words);
  SmallVector<Value> poll(const Tags &tags, int64_t count,
                          llvm::function_ref<Value(int64_t)> getPlace);
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
