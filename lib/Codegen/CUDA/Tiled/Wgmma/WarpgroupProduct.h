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

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_WARPGROUPPRODUCT_H
#define TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_WARPGROUPPRODUCT_H

#include "Codegen/CUDA/Tiled/TiledFrame.h"

namespace mlir::tenon {

/// A warpgroup's part of a tile: blocks of 64 rows by the tile's columns, one
/// wgmma each for every product of 32 bytes of K of x and w.
///
/// The accumulators are one struct of N / 2 f32 for each block. Of 16 rows by 8
/// columns a thread has 4, as with mma.sync (MmaSync/WarpProduct.h): the warps
/// of the group have 16 rows of the block each.
///
/// With swapped operands w stands for x and x for w: blocks are of 64 of the
/// tile's columns by its rows, and of M / 2 f32.
///
/// 16 bits that lie along M or N (a layout other than mk_nk) are multiplied as
/// they lie: a descriptor says where they are, the instruction how.
///
/// A stage's products are one piece of inline PTX, and not ops of nvvm: each
/// has all accumulators as operands, for which LLVM would take most of its
/// time.
class WarpgroupProduct {
public:
  explicit WarpgroupProduct(TiledFrame &frame);

  int64_t numAccumulators() const;

  /// Starts the products of a first stage, and gives what they are added up in.
  /// Several `groups`, 2 or 4, are a loop: ptxas takes its time for each wgmma.
  Value begin(Value stage, int64_t groups);
  /// Starts those of another stage, which are added to `sums`, and waits until
  /// the stage before is done, and may be overwritten.
  Value advance(Value sums, Value stage, int64_t groups);
  /// The accumulators one by one, when all products are done: of each weight,
  /// block by block.
  SmallVector<Value> complete(Value sums);

private:
  Value getDescriptor(Value memory, bool isTurned);
  Value emit(StringRef text, ValueRange sums, ValueRange descriptors);
  Value multiply(Value sums, Value stage, StringRef text);
  SmallVector<Value> split(Value sums);

  TiledFrame &frame;
  KernelBuilder &b;
  Value firstOfRows, firstOfColumns; ///< descriptors, of stage 0
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_WARPGROUPPRODUCT_H
