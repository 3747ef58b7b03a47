//===- MomentsGeometry.h - How kernels divide moments ----------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_INPUTMOMENTS_MOMENTSGEOMETRY_H
#define TENON_LIB_CODEGEN_CUDA_INPUTMOMENTS_MOMENTSGEOMETRY_H

#include "mlir/IR/Types.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::tenon {

/// How the kernels of `tenon.product_moments` divide their work.
///
/// S2, [K, K], is symmetric: of its tiles of 32x32, K rounded up, those on and
/// below the diagonal are kept, tile (i, j) as number i (i + 1) / 2 + j, row by
/// row. The tiles and, after them, S1 are a state, of f64. Groups of blocks
/// leave a state each, which are added to one.
struct MomentsGeometry {
  int64_t n, k;
  Type elementType; ///< of x and w

  static constexpr int64_t kTile = 32, kTileElements = kTile * kTile;
  /// Warps of a block that sums a tile of x's rows, and those rows at a time in
  /// shared memory. Each warp has its part of them.
  static constexpr int64_t kGramWarps = 8, kGramRows = 64;
  /// Blocks that sum at once: two for each multiprocessor of a large GPU, so
  /// that one multiplies while the other waits for rows.
  static constexpr int64_t kGramBlocks = 264;
  /// Threads of a block that adds states: so many elements, parts of states.
  static constexpr int64_t kElements = 32, kParts = 8;
  /// Warps of a block that has some of w's rows.
  static constexpr int64_t kColumnWarps = 4;

  /// K and zeros.
  int64_t columns() const { return llvm::alignTo<kTile>(k); }
  /// Tiles along a side, and those that are kept.
  int64_t side() const { return columns() / kTile; }
  int64_t tiles() const { return side() * (side() + 1) / 2; }
  int64_t stateElements() const { return tiles() * kTileElements + columns(); }
  /// Rows of w at a time in shared memory.
  int64_t rows() const { return columns() <= 128 ? 32 : 16; }
  /// From a row to the next there, in f64: so that the 16 elements that half a
  /// warp loads, of four rows, are in different banks.
  int64_t pitch() const { return columns() + 4; }
  /// Groups at most, each with every so many'th kGramRows rows. Each tile of a
  /// group has a block.
  int64_t maxGroups() const { return kGramBlocks / tiles(); }
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_INPUTMOMENTS_MOMENTSGEOMETRY_H
