//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which parts of the product a thread block computes, in which order.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_WORKPARTITION_H
#define TENON_LIB_CODEGEN_CUDA_TILED_WORKPARTITION_H

#include "TiledFrame.h"

namespace mlir::tenon {

/// A turn of a block: a tile's product over K tiles [kBegin, kBegin + kCount).
/// All i32.
struct WorkItem {
  Value row, column; ///< the tile's first
  Value kBegin, kCount;
};

/// Divides the tiles among the blocks of the launch. Where blocks form
/// clusters, read "cluster" for "block" below, and for "tile" the tiles that a
/// cluster takes at a time: neighbours, one for each of its blocks.
///
/// Without stream-K block b takes tiles b, b + grid, b + 2 grid, ... With
/// reduction = resident tiles count down the columns, and the grid is cut to a
/// multiple of a column's: its tiles are taken by neighbours in the same turn,
/// the same ones each time. With reduction = resident_rows a team of units has
/// the tiles of a row, or of a group of its columns, which count as one tile.
/// With stream-K,
/// the tiles that would not fill a wave, and a wave more where there is one,
/// are first laid end to end and cut into equal ranges of K tiles, one a block;
/// the others follow tile by tile. A block walks its range from the end to the
/// beginning. So it first meets the tile that it shares with the next block, of
/// which it computes the front and leaves it in the workspace, and last the
/// tile that it shares with the block before it, whose front is done by then.
/// It waits for blocks of lower numbers alone, which started before it, so
/// nothing deadlocks. Source of the idea: Osama et al., "Stream-K", arXiv
/// 2301.03598.
class WorkPartition {
public:
  explicit WorkPartition(TiledFrame &frame);

  /// Whether the block has a turn number `turn`, i1.
  Value hasTurn(Value turn);
  /// How many it has, i32: with stream-K, or reduction = resident.
  Value getCount() { return count.load(); }
  /// What the block does in turn number `turn`.
  WorkItem getItem(Value turn);
  /// Emits a loop over turns `first`, `first + step` and so on. Gives what
  /// `body` returns in the last, and is given in the next, of types of
  /// `initial`.
  SmallVector<Value> forEachTurn(
      Value first, int64_t step, ValueRange initial,
      llvm::function_ref<SmallVector<Value>(Value turn, ValueRange)> body);
  /// The K tiles in the range of `unit`.
  Value getRangeLength(Value unit);

private:
  Value getRowUnits();
  Value getUnits();
  Value getTeams();
  Value getTeam();
  Value getTile(Value turn);
  Value countTurns(Value tiles);
  Value chooseStreamed(Value tiles);
  Value chooseBlocks(Value numStreamed);
  Value divideStream(Value numStreamed,
                     SmallVectorImpl<std::pair<KeptScalar *, Value>> &kept);
  WorkItem getPiece(Value turn);
  std::pair<Value, Value> divideGroup(Value inGroup, Value firstRow,
                                      int64_t raster);
  void setOrigin(Value tile, WorkItem &item);

  TiledFrame &frame;
  KernelBuilder &b;
  KeptScalar rowUnits; ///< of a kernel whose loops have few registers
  KeptScalar count;
  // With stream-K: how many tiles are streamed, and K tiles in a block's range
  // (quotient and remainder); this block's range, and the tiles it has a part
  // of.
  KeptScalar streamed, rangeBase, rangeExtra, begin, end, pieces;
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_WORKPARTITION_H
