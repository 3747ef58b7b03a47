//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_PANELMEMORY_H
#define TENON_LIB_CODEGEN_CUDA_TILED_PANELMEMORY_H

#include "FragmentStates.h"

namespace mlir::tenon {

/// What the blocks of a panel write for each other (PanelExchange.h,
/// RowExchange.h). The workspace has a flag (i64) for each block, and a state
/// for each column of a block's tile, or with resident rows for each row,
/// twice: for even turns and for odd ones, or as getExchangedTurns() says. Each
/// number of a state shares a word of 64 bits with a tag, one half of the
/// launch's token plus the turn. Such a word is written and read at once, so
/// who sees the tags has the numbers: no fence, and one way through L2. No
/// earlier launch had the token, and memory does not hold both tags by chance.
///
/// The second tag has 24 bits. The 8 beside it say what rounding the first
/// number, the mean, left of it (RoundingRest.h).
class PanelMemory {
public:
  explicit PanelMemory(TiledFrame &frame) : frame(frame), b(frame.b) {}

  /// Words of a state.
  static constexpr int64_t kWords = kTaggedStateBytes / 8;
  /// How often a place is read in vain. Blocks that are resident together come
  /// within seconds, so that one that waits longer has met a mistake: it stops
  /// the kernel rather than the GPU.
  static constexpr int64_t kMaxTries = 0x2000000;

  struct Tags {
    Value first, second; ///< i32; the second's low 8 bits are 0
  };
  Tags getTags(Value turn);

  /// How many blocks a panel has; the last may have no rows.
  Value getBlocks();
  Value getOwnBlock();
  Value getBlock(Value rowTile);
  /// Whether the block is that which clears what all have left, i1.
  Value isFirstBlock();
  /// Of a block's states in a turn.
  int64_t getExtent();
  Value getFlag(Value block);
  Value getState(Value turn, Value block, Value inTile);
  Value getPublishedPlace(Value turn, Value inTile);

  /// A word with the tag above the number's bits.
  Value tagNumber(Value number, Value tag);
  /// Writes `kWords` of them.
  void store(Value place, ArrayRef<Value> words);
  SmallVector<Value> poll(const Tags &tags, int64_t count,
                          llvm::function_ref<Value(int64_t)> getPlace);
  Value getLowHalf(Value word);
  Value getHighHalf(Value word);

  /// Publishes `kWords` f32 at most for a column of the panel.
  void publish(Value turn, Value inTile, ArrayRef<Value> numbers);
  /// Waits for `count` of them that a block has published.
  SmallVector<Value> getPublished(Value turn, Value inTile, size_t count);

private:
  SmallVector<Value> loadMissing(Value place, const Tags &tags,
                                 ValueRange words);

  TiledFrame &frame;
  KernelBuilder &b;
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_PANELMEMORY_H
