//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Scales of blocks of x and w, in the main loop.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_BLOCKSCALES_H
#define TENON_LIB_CODEGEN_CUDA_TILED_BLOCKSCALES_H

#include "WorkPartition.h"

namespace mlir::tenon {

/// What a thread's sums of a K tile, at most 128 of K, are multiplied by: x has
/// a scale for each row there, of which a thread has two of 16, and w one for
/// each 128 columns, which neighbours share. Both families spread accumulators
/// alike over a warp (WarpgroupProduct.h, WarpProduct.h), unless operands are
/// swapped.
class BlockScales {
public:
  /// Of the tile of `item`; the frame's factors are the scales.
  BlockScales(TiledFrame &frame, const WorkItem &item);

  /// Emits the loads of those of K tile number `kTile`.
  SmallVector<Value> load(Value kTile);
  /// Adds accumulators of the K tile that scales are `loaded` of to `sums`.
  SmallVector<Value> add(ValueRange sums, ValueRange accumulators,
                         ValueRange loaded);

private:
  TiledFrame &frame;
  KernelBuilder &b;
  int64_t sharing; ///< neighbouring columns of a warp with one scale
  SmallVector<Value> ofRows, ofColumns; ///< where scales of K tile 0 lie
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_BLOCKSCALES_H
