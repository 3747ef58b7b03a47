//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The copies of a warpgroup's subtiles between global and shared memory.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_SM90_SUBTILECOPIES_H
#define TENON_LIB_CODEGEN_CUDA_SM90_SUBTILECOPIES_H

#include "../Tiled/WorkPartition.h"
#include "EpilogueSubtiles.h"

namespace mlir::tenon {

/// Has TMA load operands and store results. One thread of each warpgroup, its
/// leader, issues the copies: operands two subtiles ahead, the first two of a
/// tile before its main loop. Subtiles are numbered within the tile, and take
/// each tensor's buffers in turn.
///
/// One barrier a subtile is enough: the leader comes to it when the results of
/// the subtile before have left their buffer. So after it all threads may write
/// the next results there, or where an operand has the same buffer, TMA the
/// next but one's; and what they have written now may be stored.
class SubtileCopies {
public:
  SubtileCopies(TiledFrame &frame, EpilogueSubtiles subtiles);

  /// Prepares the barriers of all warpgroups; one thread of the block does.
  void initialize();

  // The threads that multiply. Before their first turn:
  void start();
  /// Before a turn's main loop: has the first operands loaded if the turn ends
  /// its tile.
  void loadFirst(const WorkItem &item);
  /// Before the first subtile of a tile is written.
  void beginTile();
  void waitForOperands(int64_t number);
  /// Waits until all results have left their buffers.
  void waitForBuffers();
  /// All have read the subtile's operands and written its results.
  void store(const WorkItem &item, int64_t number);
  /// After the last subtile of a tile.
  void endTile();
  /// After the last turn: shared memory must stay until it is stored.
  void finish();

  /// The subtile's first row and column.
  Value getRow(const WorkItem &item, int64_t number);
  Value getColumn(const WorkItem &item, int64_t number);
  Value getBuffer(const SubtileTensor &tensor, int64_t number);

  const EpilogueSubtiles subtiles;

private:
  Value addWarpgroup(Value ofTile, Value ofWarp);
  Value getBox(const SubtileTensor &tensor, int64_t number, int64_t box);
  Value getBoxColumn(const SubtileTensor &tensor, Value column, int64_t box);
  Value getBarrier(Value warpgroup, int64_t number);
  void emitIfLeader(Value condition, llvm::function_ref<void()> body);
  void issueLoads(const WorkItem &item, int64_t number);
  void issueStores(const WorkItem &item, int64_t number);

  TiledFrame &frame;
  KernelBuilder &b;
  KeptScalar finished; ///< how many tiles, modulo 2
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_SM90_SUBTILECOPIES_H
