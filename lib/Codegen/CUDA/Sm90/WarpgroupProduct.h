//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// wgmma: a warpgroup's product of a stage.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_SM90_WARPGROUPPRODUCT_H
#define TENON_LIB_CODEGEN_CUDA_SM90_WARPGROUPPRODUCT_H

#include "../Tiled/TiledFrame.h"

namespace mlir::tenon {

/// A warpgroup's part of a tile: blocks of 64 rows by the tile's columns, one
/// wgmma each for every product of 32 bytes of K of x and w.
///
/// The accumulators of a block are one struct of N / 2 f32. Of 16 rows by 8
/// columns a thread has 4, as with mma.sync (Sm80/WarpProduct.h): the warps of
/// the group have 16 rows of the block each.
///
/// With swapped operands w stands for x and x for w: blocks are of 64 of the
/// tile's columns by its rows, and their structs of M / 2 f32.
class WarpgroupProduct {
public:
  explicit WarpgroupProduct(TiledFrame &frame);

  /// The accumulators of all blocks.
  int64_t numAccumulators() const;
  /// The structs' type, and some without values for a first product.
  Type getBlockType();
  SmallVector<Value> getUndefined();

  /// Starts the products of a stage, as one group: adds them to `blocks`, or
  /// lets their sum replace what is in there. The results may be read, and the
  /// stage overwritten, after a wait.
  SmallVector<Value> multiply(ValueRange blocks, Value stage, bool replaces);
  /// Waits until all groups but the `pending` youngest are done. Gives the
  /// blocks that hold what they computed.
  SmallVector<Value> wait(ValueRange blocks, unsigned pending);
  /// The accumulators one by one, block by block.
  SmallVector<Value> getAccumulators(ValueRange blocks);

private:
  Value getDescriptor(Value memory);
  unsigned numBlocks() const { return frame.geometry.wgmmaBlocks(); }
  Value multiplyBlock(Value block, Value rows, Value columns, bool replaces);
  Value tie(Value block, StringRef text);

  TiledFrame &frame;
  KernelBuilder &b;
  Value firstOfRows, firstOfColumns; ///< descriptors, of stage 0
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_SM90_WARPGROUPPRODUCT_H
