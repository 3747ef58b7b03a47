//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Marks tiles that are in memory, for a kernel that follows beside.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_SM90_TILEMARKS_H
#define TENON_LIB_CODEGEN_CUDA_SM90_TILEMARKS_H

#include "../Tiled/WorkPartition.h"
#include "../Trailing/Progress.h"

namespace mlir::tenon {

/// With reduction = trailing each warpgroup sets a flag for every 64 rows of
/// its tile (Progress.h). To wait for its stores at a tile's end would keep the
/// tensor cores idle, so a tile is marked in the warpgroup's next one.
class TileMarks {
public:
  explicit TileMarks(TiledFrame &frame);

  /// At the kernel's start, by all threads: clears the flags of the block's
  /// tiles, then lets the following kernel start.
  static void clear(TiledFrame &frame, WorkPartition &partition);

  /// Before the first turn.
  void start();
  /// The warpgroup's rows of a tile, from `row` on, are being stored.
  void endTile(Value row, Value column);
  /// Marks the tile before, if there is one. One thread of the warpgroup calls
  /// it, after a barrier that comes when all of that tile is stored.
  void mark();

private:
  TiledFrame &frame;
  KernelBuilder &b;
  Progress progress;
  KeptScalar pending; ///< the first flag to be set; negative: none
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_SM90_TILEMARKS_H
