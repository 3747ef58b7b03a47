//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A warp's product of a stage of f32 without tensor cores.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_MMASYNC_FMAPRODUCT_H
#define TENON_LIB_CODEGEN_CUDA_TILED_MMASYNC_FMAPRODUCT_H

#include "Codegen/CUDA/Tiled/TiledFrame.h"

namespace mlir::tenon {

/// A warp's part of a tile by fused multiply-adds, with accumulators where
/// mma.sync would have them (WarpProduct.h), so that one epilogue serves both:
/// a thread has every 8th row and of every 8 columns two neighbours. It loads
/// 16 bytes of each of its rows of x and w, four numbers along K, and
/// multiplies them row by row.
class FmaProduct {
public:
  explicit FmaProduct(TiledFrame &frame);

  unsigned numAccumulators() const {
    return frame.geometry.warpM() * frame.geometry.warpN() / 32;
  }
  /// The sums of a stage's products, each in the order of K.
  SmallVector<Value> multiply(Value stage);

private:
  unsigned numRows() const { return frame.geometry.warpM() / 8; }
  unsigned numColumns() const { return frame.geometry.warpN() / 4; }
  unsigned getAccumulator(unsigned row, unsigned column) const;
  SmallVector<SmallVector<Value>> loadX(Value stage, Value chunk);
  SmallVector<SmallVector<Value>> loadW(Value stage, Value chunk);
  SmallVector<Value> load(Value stage, Value offset, int64_t bytes);
  void multiplyChunk(SmallVectorImpl<Value> &sums, Value stage, Value chunk);

  TiledFrame &frame;
  KernelBuilder &b;
  Value offsetOfX, offsetOfW; ///< of the thread's first rows, chunk 0
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_MMASYNC_FMAPRODUCT_H
