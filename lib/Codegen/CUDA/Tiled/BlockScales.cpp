//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loads scales of blocks for the accumulators of a thread.
//
//===----------------------------------------------------------------------===//

#include "BlockScales.h"

#include <numeric>

using namespace mlir;
using namespace mlir::tenon;

static constexpr int64_t kBlock = ScaleBlocksOp::kBlock;

/// Rows and columns beyond the matrices read what the last ones have: nothing
/// is stored of them.
BlockScales::BlockScales(TiledFrame &frame, const WorkItem &item)
    : frame(frame), b(frame.b),
      sharing(std::gcd(frame.geometry.warpN(), kBlock)) {
  const TileGeometry &geometry = frame.geometry;
  assert(kBlock % geometry.tileK == 0 && !geometry.isSwapped() &&
         "a K tile has one scale of each row");
  int64_t rowBytes = 4 * llvm::divideCeil(geometry.k, kBlock);
  auto getRow = [&](Value scales, Value row, int64_t bytes) {
    return b.offset(scales, b.mul(b.toI64(row), bytes));
  };
  Value first =
      b.add(b.add(item.row, frame.warpRow), b.shiftRight(frame.lane, 2));
  for (int64_t block = 0; block != geometry.warpM() / 16; ++block)
    for (int64_t half : {0, 8}) {
      Value row = b.add(first, block * geometry.rowBlockStride() + half);
      ofRows.push_back(getRow(frame.factors[0], b.min(row, b.sub(frame.m, 1)),
                              geometry.hasScalesByColumn ? 4 : rowBytes));
    }
  Value last = b.i32((geometry.n - 1) / kBlock);
  Value firstColumn = b.add(item.column, frame.warpColumn);
  for (int64_t column = 0; column != geometry.warpN(); column += sharing) {
    Value block = b.div(b.add(firstColumn, column), kBlock);
    ofColumns.push_back(getRow(frame.factors[1], b.min(block, last), rowBytes));
  }
}

SmallVector<Value> BlockScales::load(Value kTile) {
  const TileGeometry &geometry = frame.geometry;
  Value block = b.toI64(b.div(kTile, kBlock / geometry.tileK));
  SmallVector<Value> loaded;
  auto emitLoads = [&](ArrayRef<Value> scales, int64_t bytes) {
    Value offset = b.mul(block, bytes);
    for (Value ofBlocks : scales)
      loaded.push_back(
          LLVM::LoadOp::create(b, b.getF32Type(), b.offset(ofBlocks, offset)));
  };
  emitLoads(ofColumns, 4);
  emitLoads(ofRows, geometry.hasScalesByColumn ? 4 * geometry.m : 4);
  return loaded;
}

/// Of 16 rows by 8 columns a thread has two neighbours of a row, and two 8 rows
/// below.
SmallVector<Value> BlockScales::add(ValueRange sums, ValueRange accumulators,
                                    ValueRange loaded) {
  size_t numColumns = ofColumns.size();
  SmallVector<Value> products;
  for (Value row : loaded.drop_front(numColumns))
    for (Value column : loaded.take_front(numColumns))
      products.push_back(arith::MulFOp::create(b, row, column));
  int64_t perBlock = frame.geometry.warpN() / 2;
  SmallVector<Value> added;
  for (auto [index, sum, other] : llvm::enumerate(sums, accumulators)) {
    int64_t block = index / perBlock, inBlock = index % perBlock;
    int64_t row = 2 * block + inBlock / 2 % 2;
    int64_t column = inBlock / 4 * 8 / sharing;
    Value product = products[row * numColumns + column];
    added.push_back(
        LLVM::FMAOp::create(b, b.getF32Type(), other, product, sum));
  }
  return added;
}
