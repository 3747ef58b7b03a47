//===- MatmulKernel.h - A tile of a product ---------------------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CPU_MATMULKERNEL_H
#define TENON_LIB_CODEGEN_CPU_MATMULKERNEL_H

#include "LoopNest.h"

namespace mlir::tenon {

/// Extents of the blocks of a product, in elements.
struct MatmulBlocks {
  int64_t lanes;         ///< of a vector of accumulators
  int64_t rows, columns; ///< register tile; columns are whole vectors
  int64_t packedRows;    ///< rows of x packed at once
  int64_t packedColumns; ///< rows of w packed at once
  int64_t depth;         ///< of K, packed at once
  int64_t taskRows;      ///< rows of y that one parallel task computes
};

/// Emits the part of y[m,n] += sum_k x[m,k] w[n,k] that one task computes.
class MatmulKernel {
public:
  MatmulKernel(OpBuilder &builder, Location loc, Value x, Value w, Value y,
               const MatmulBlocks &blocks);

  /// Rows and columns of y, from the tile's indices.
  void emitTask(Value rowTile, Value columnTile);

private:
  void packW(Value columnBegin, Value columnEnd, Value k, Value length);
  void packX(Value rowBegin, Value count, Value k, Value length);
  SmallVector<Value> emitRegisterTile(Value panel, Value row, Value length);
  void addToResult(ArrayRef<Value> tile, Value row, Value rowEnd, Value column);
  void addVector(Value sum, Value row, Value column, bool isMasked);
  Value loadWide(Value memref, ValueRange position, int64_t lanes);

  OpBuilder &builder;
  Location loc;
  LoopNest nest;
  Value x, w, y;
  MatmulBlocks blocks;
  FloatType type; ///< of the accumulators
  int64_t n, k;
  Value packedW, packedX;
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CPU_MATMULKERNEL_H
