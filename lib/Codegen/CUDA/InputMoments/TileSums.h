//===- TileSums.h - What a block sums of a tile ----------------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_INPUTMOMENTS_TILESUMS_H
#define TENON_LIB_CODEGEN_CUDA_INPUTMOMENTS_TILESUMS_H

#include "MomentsFrame.h"

namespace mlir::tenon {

/// Sums of a tile of S2 that each warp of a block has of other rows: added in a
/// fixed order, through shared memory.
class TileSums {
public:
  /// A tile's products of 8x8 along a side, and a lane's sums: two of each.
  static constexpr unsigned kProducts = MomentsGeometry::kTile / 8;
  static constexpr unsigned kSums = 2 * kProducts * kProducts;

private:
  static constexpr int64_t kTile = MomentsGeometry::kTile;
  static constexpr int64_t kPitch = kTile + 4;
  /// As many warps' sums lie in shared memory at once.
  static constexpr int64_t kParts = MomentsGeometry::kGramWarps / 2;
  static constexpr int64_t kPartElements = kTile * kPitch;

public:
  /// f64 of shared memory.
  static constexpr int64_t kElements = kParts * kPartElements;

  TileSums(MomentsFrame &frame, Value shared)
      : frame(frame), b(frame.b), shared(shared) {}

  /// Leaves the sums of each two warps in shared memory, which they all have
  /// read before.
  void addWarps(ValueRange sums);
  /// Stores their sum, row by row, at `target`.
  void store(Value target);

private:
  Value getIndex(Value part, unsigned index);

  MomentsFrame &frame;
  KernelBuilder &b;
  Value shared;
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_INPUTMOMENTS_TILESUMS_H
