//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Takes the scale of split rows out of their products.
//
//===----------------------------------------------------------------------===//

#include "Unscale.h"

using namespace mlir;
using namespace mlir::tenon;

/// The factor of a row of x or w; beyond the matrix, that of its last row.
static Value loadFactor(KernelBuilder &b, Value factors, Value row,
                        Value rows) {
  if (rows)
    row = b.min(row, b.sub(rows, 1));
  return LLVM::LoadOp::create(b, b.getF32Type(),
                              b.offset(factors, b.mul(b.toI64(row), 4)),
                              /*alignment=*/4);
}

/// What a thread has of a tile: of each 16 rows one of the upper 8 and one of
/// the lower, of each 8 columns two neighbours (Sm80/WarpProduct.h).
SmallVector<Value> tenon::emitUnscale(TiledFrame &frame, const WorkItem &item,
                                      ValueRange accumulators) {
  const TileGeometry &geometry = frame.geometry;
  if (!geometry.schedule.isSplit())
    return llvm::to_vector(accumulators);
  KernelBuilder &b = frame.b;
  int64_t columnBlocks = geometry.warpN() / 8;
  Value row =
      b.add(b.add(item.row, frame.warpRow), b.shiftRight(frame.lane, 2));
  Value column = b.add(b.add(item.column, frame.warpColumn),
                       b.shiftLeft(b.bitAnd(frame.lane, 3), 1));
  SmallVector<Value> ofColumns;
  for (int64_t i = 0; i != 2 * columnBlocks; ++i)
    ofColumns.push_back(
        loadFactor(b, frame.factors[1], b.add(column, i / 2 * 8 + i % 2),
                   geometry.hasRaggedColumns() ? b.i32(geometry.n) : Value()));
  SmallVector<Value> products;
  for (int64_t block = 0; block != geometry.warpM() / 16; ++block) {
    SmallVector<Value> ofRows;
    for (int64_t i : {0, 8})
      ofRows.push_back(
          loadFactor(b, frame.factors[0],
                     b.add(row, block * geometry.rowBlockStride() + i),
                     geometry.hasRaggedRows() ? frame.m : Value()));
    for (int64_t i = 0; i != 4 * columnBlocks; ++i) {
      // The factors' product first, twice: their squares may leave f32's range
      // where the result does not.
      Value scale = arith::MulFOp::create(b, ofRows[i / 2 % 2],
                                          ofColumns[i / 4 * 2 + i % 2]);
      Value product = accumulators[block * 4 * columnBlocks + i];
      for (int time = 0; time != 2; ++time)
        product = arith::MulFOp::create(b, product, scale);
      products.push_back(product);
    }
  }
  return products;
}
