//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which part of a warpgroup's epilogue memory holds which subtile, and whose
// turn it is.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_SUBTILES_SUBTILECOPIES_H
#define TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_SUBTILES_SUBTILECOPIES_H

#include "Codegen/CUDA/Tiled/WorkPartition.h"
#include "EpilogueSubtiles.h"

namespace mlir::tenon {

/// The buffers that subtiles pass through, as the warps that multiply see them:
/// they acquire a subtile's buffers, read its operands and write its results
/// there, and release them. A warp of the copying warpgroup, SubtileCopier,
/// loads and stores with TMA meanwhile, so nobody waits for a copy that is not
/// needed yet. Subtiles are numbered within the tile, and take each tensor's
/// buffers in turn; in loops over a tile's subtiles a number is in a register,
/// and each buffer has to be used equally often.
///
/// Each warpgroup has its own buffers, and these barriers, of which a phase
/// completes each time that a buffer is used: `loaded`, when its operands have
/// arrived; `free`, when its results have been read, where no operand has the
/// same buffers; `written`, when its warps have released it. `asked` completes
/// a phase a tile, when operands may be loaded.
class SubtileCopies {
public:
  SubtileCopies(TiledFrame &frame, EpilogueSubtiles subtiles);

  /// Prepares the barriers of a warpgroup; one thread of the block does.
  void initialize(int64_t warpgroup);

  // The threads that multiply. Before their first turn:
  void start();
  /// Has the operands of the turn's tile loaded, if the turn ends its tile.
  void askForOperands(const WorkItem &item);
  /// While the tile's last products are computed: `acquire` for as many of its
  /// first `count` subtiles as there are buffers. With stream-K for none.
  void acquireAhead(int64_t count);
  /// Waits until the subtile's operands have arrived and its results may be
  /// written.
  void acquire(Value number);
  void acquire(int64_t number) { acquire(b.i32(number)); }
  /// The thread has read the operands of subtiles `first` to `end` and written
  /// their results.
  void release(int64_t first, int64_t end);
  void release(Value number) { release(ArrayRef<Value>(number)); }
  /// Waits until all results of the tile before have left their buffers.
  void waitForStores();
  /// After the last subtile of a tile.
  void endTile();

  /// The subtile's first row.
  Value getRow(const WorkItem &item, int64_t number);
  Value getBuffer(const SubtileTensor &tensor, Value number);
  Value getBuffer(const SubtileTensor &tensor, int64_t number) {
    return getBuffer(tensor, b.i32(number));
  }

  const EpilogueSubtiles subtiles;
  /// Between loads of operands that nobody waits for yet.
  int64_t pauseNanoseconds = 0;

private:
  friend class SubtileCopier;
  enum class Kind { Written, Free, Loaded, Asked };

  int64_t getArrivals(Kind kind) const;
  SmallVector<Kind> getKinds() const;
  Value getBarrier(Kind kind, Value slot, Value warpgroup);
  Value getBarrier(Kind kind, Value number);
  Value getParity(Value number);
  Value getOffset(Value warpgroup);
  Value getBuffer(const SubtileTensor &tensor, Value slot, Value warpgroup);
  Value endsTile(const WorkItem &item);
  void waitUntilFree(Value number);
  void release(ArrayRef<Value> numbers);
  void arrive(ArrayRef<Value> barriers);

  TiledFrame &frame;
  KernelBuilder &b;
  KeptScalar finished; ///< how many tiles, modulo 2
  int64_t ahead = 0;   ///< of the tile at hand, acquired ahead
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_SUBTILES_SUBTILECOPIES_H
