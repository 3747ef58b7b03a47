//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How an epilogue's [M, N] tensors pass through shared memory.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_SM90_EPILOGUESUBTILES_H
#define TENON_LIB_CODEGEN_CUDA_SM90_EPILOGUESUBTILES_H

#include "../Tiled/TileGeometry.h"

#include <optional>

namespace mlir::tenon {

/// An [M, N] operand or result of the epilogue.
struct SubtileTensor {
  Value matrix; ///< an operand of the op
  Value value;  ///< the region's argument, or what it yields
  Type elementType;
  int64_t rowBytes; ///< of a subtile, or of each of its boxes
  int64_t offset;   ///< of the first buffer in its warpgroup's memory

  int64_t elementBytes() const {
    return elementType.getIntOrFloatBitWidth() / 8;
  }
};

/// Moments of a result, which are computed from its buffers.
struct ResultMoments {
  unsigned result; ///< of EpilogueSubtiles::results
  unsigned output; ///< of the op, where they are stored
};

/// A warpgroup finishes its part of a tile in subtiles of 64 rows by `columns`
/// columns, along N first. Each [M, N] tensor has two buffers of this size in
/// the warpgroup's epilogue memory, which take subtiles in turn: one is on its
/// way while the other is computed. A buffer's rows lie as TMA's swizzle of
/// `rowBytes` has them.
///
/// Where that makes room for wider subtiles, an operand and a result of one
/// type have the same three buffers: one is loaded, one computed in place, one
/// stored.
///
/// With swapped operands a subtile has 64 columns by `rows` rows, and they
/// follow each other along M first. The columns of f32 are two boxes of 32, one
/// behind the other.
struct EpilogueSubtiles {
  /// Rows of a wgmma.
  static constexpr int64_t kRows = 64;

  /// The widest subtiles that fit. None if the results have to be stored in
  /// another way: TMA needs rows of multiples of 16 bytes, in tensors of f32,
  /// f16 or bf16, and its narrowest swizzle rows of 32 bytes of a subtile.
  /// Moments need what they are of among the results. Operands that only what
  /// is reduced depends on have no part in it.
  static std::optional<EpilogueSubtiles> choose(TiledLinearOp op,
                                                const TileGeometry &geometry);

  /// What a copy moves of `tensor`.
  TensorMapAttr getMap(const SubtileTensor &tensor) const;
  int64_t getBoxBytes(const SubtileTensor &tensor) const {
    return rows * tensor.rowBytes;
  }
  int64_t getBoxColumns(const SubtileTensor &tensor) const {
    return tensor.rowBytes / tensor.elementBytes();
  }
  int64_t getBoxes(const SubtileTensor &tensor) const {
    return columns / getBoxColumns(tensor);
  }
  int64_t getBufferBytes(const SubtileTensor &tensor) const {
    return getBoxes(tensor) * getBoxBytes(tensor);
  }
  /// Of a warpgroup in a tile.
  int64_t getCount() const { return rowBlocks * perRow; }
  /// Where a subtile lies in its warpgroup's part of the tile.
  int64_t getRow(int64_t number) const {
    return isSwapped ? number % perRow * rows : number / perRow * rows;
  }
  int64_t getColumn(int64_t number) const {
    return isSwapped ? number / perRow * columns : number % perRow * columns;
  }

  bool isSwapped;
  int64_t rows, columns;
  int64_t numBuffers; ///< of each tensor
  // Rows of wgmma: with swapped operands columns of the tile.
  int64_t rowBlocks; ///< of 64 rows, that a warpgroup has of a tile
  int64_t perRow;    ///< subtiles side by side in a tile
  SmallVector<SubtileTensor> operands, results;
  SmallVector<ResultMoments> moments;

private:
  bool addMoments(TiledLinearOp op);
  bool canShare(const TileGeometry &geometry) const;
  bool place(int64_t width, bool shares, const TileGeometry &geometry);
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_SM90_EPILOGUESUBTILES_H
