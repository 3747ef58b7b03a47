//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loads rows of f32 and multiplies them one by one.
//
//===----------------------------------------------------------------------===//

#include "FmaProduct.h"

#include "Codegen/CUDA/Tiled/Swizzle.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::tenon;

/// Numbers in a chunk of 16 bytes.
static constexpr unsigned kChunk = 4;
/// Chunks multiplied in an iteration: the loop's code shall fit the cache from
/// which instructions are issued, or FMAs wait for it.
static constexpr int64_t kChunksPerIteration = 2;

FmaProduct::FmaProduct(TiledFrame &frame) : frame(frame), b(frame.b) {
  const TileGeometry &geometry = frame.geometry;
  auto getOffset = [&](Value row) {
    return b.add(b.mul(row, geometry.rowBytes),
                 b.shiftLeft(getSwizzle(b, geometry.rowBytes, row), 4));
  };
  offsetOfX = getOffset(b.add(frame.warpRow, b.shiftRight(frame.lane, 2)));
  offsetOfW = b.add(getOffset(b.add(frame.warpColumn, frame.getLanePair())),
                    geometry.tileM * geometry.rowBytes);
}

/// Where the accumulator of a thread's row and column is kept: block by block,
/// four in each.
unsigned FmaProduct::getAccumulator(unsigned row, unsigned column) const {
  unsigned block = row / 2 * (numColumns() / 2) + column / 2;
  return block * 4 + row % 2 * 2 + column % 2;
}

/// The chunk at `offset` in a row that is `bytes` below the thread's first.
SmallVector<Value> FmaProduct::load(Value stage, Value offset, int64_t bytes) {
  Value pointer = LLVM::IntToPtrOp::create(b, stage.getType(), offset);
  Value loaded = LLVM::LoadOp::create(
      b, VectorType::get(kChunk, b.getF32Type()), b.offset(pointer, bytes),
      /*alignment=*/16);
  SmallVector<Value> elements;
  for (int64_t i = 0; i != kChunk; ++i)
    elements.push_back(vector::ExtractOp::create(b, loaded, i));
  return elements;
}

/// A thread's rows are a multiple of 8 apart and so swizzled alike.
SmallVector<SmallVector<Value>> FmaProduct::loadX(Value stage, Value chunk) {
  Value address =
      b.bitXor(b.toAddress(b.offset(stage, offsetOfX)), b.shiftLeft(chunk, 4));
  SmallVector<SmallVector<Value>> rows;
  for (unsigned row = 0; row != numRows(); ++row)
    rows.push_back(load(stage, address, row * 8 * frame.geometry.rowBytes));
  return rows;
}

/// The first of two neighbouring columns is even, so the second's swizzle
/// differs in the last bit alone.
SmallVector<SmallVector<Value>> FmaProduct::loadW(Value stage, Value chunk) {
  Value even =
      b.bitXor(b.toAddress(b.offset(stage, offsetOfW)), b.shiftLeft(chunk, 4));
  Value odd = b.bitXor(even, 16);
  SmallVector<SmallVector<Value>> columns;
  for (unsigned column = 0; column != numColumns(); ++column)
    columns.push_back(
        load(stage, column % 2 == 0 ? even : odd,
             (column / 2 * 8 + column % 2) * frame.geometry.rowBytes));
  return columns;
}

void FmaProduct::multiplyChunk(SmallVectorImpl<Value> &sums, Value stage,
                               Value chunk) {
  SmallVector<SmallVector<Value>> w = loadW(stage, chunk);
  SmallVector<SmallVector<Value>> x = loadX(stage, chunk);
  for (unsigned row = 0; row != numRows(); ++row)
    for (unsigned k = 0; k != kChunk; ++k)
      for (unsigned column = 0; column != numColumns(); ++column) {
        Value &sum = sums[getAccumulator(row, column)];
        sum = LLVM::FMAOp::create(b, b.getF32Type(), x[row][k], w[column][k],
                                  sum);
      }
}

SmallVector<Value> FmaProduct::multiply(Value stage) {
  SmallVector<Value> zeros(numAccumulators(), b.f32(0));
  auto loop =
      scf::ForOp::create(b, b.i32(0), b.i32(frame.geometry.chunksPerRow()),
                         b.i32(kChunksPerIteration), zeros);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> sums = llvm::to_vector_of<Value>(loop.getRegionIterArgs());
  for (int64_t i = 0; i != kChunksPerIteration; ++i)
    multiplyChunk(sums, stage, b.add(loop.getInductionVar(), i));
  scf::YieldOp::create(b, sums);
  return llvm::to_vector_of<Value>(loop.getResults());
}
