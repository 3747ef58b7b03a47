//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Stores fragments to staging memory and loads rows from it.
//
//===----------------------------------------------------------------------===//

#include "StagedRows.h"

#include "tenon/Schedule/Checks/Schedule.h"
#include "tenon/Schedule/MmaSync/MmaSyncSchedule.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::tenon;

StagedRows::StagedRows(TiledFrame &frame, unsigned group)
    : frame(frame), b(frame.b), group(group) {
  memory = b.offset(b.offset(frame.shared, frame.geometry.epilogueOffset()),
                    b.mul(frame.tileWarp, kStagingBytesPerWarp));
}

Value StagedRows::getSwizzle(Value row) {
  return b.bitOr(b.shiftLeft(b.bitAnd(row, 3), 1),
                 b.bitAnd(b.shiftRight(row, 2), 1));
}

/// Where a chunk of a row lies.
Value StagedRows::getChunk(Value row, Value chunk) {
  Value place =
      b.bitXor(b.bitXor(chunk, getSwizzle(row)), b.shiftRight(chunk, 3));
  int64_t bytes = frame.geometry.passColumns() * 4;
  return b.offset(memory, b.add(b.mul(row, bytes), b.shiftLeft(place, 4)));
}

void StagedRows::store(ValueRange accumulators, unsigned pass) {
  const TileGeometry &geometry = frame.geometry;
  unsigned columnBlocks = geometry.warpN() / 8;
  unsigned blocks = geometry.passColumns() / 8;
  auto pair = VectorType::get(2, b.getF32Type());
  // A thread's pair is in row lane / 4, columns 2 (lane mod 4) of the block.
  Value row = b.shiftRight(frame.lane, 2);
  Value half = b.bitAnd(b.shiftRight(frame.lane, 1), 1);
  Value inChunk = b.shiftLeft(b.bitAnd(frame.lane, 1), 3);
  for (unsigned block = 0; block != blocks; ++block) {
    if (group * blocks + block == columnBlocks)
      break; // the last group may be narrower
    unsigned index =
        (pass / 2 * columnBlocks + group * blocks + block) * 4 + pass % 2 * 2;
    Value values =
        vector::FromElementsOp::create(b, pair, accumulators.slice(index, 2));
    Value place = getChunk(row, b.add(half, 2 * block));
    LLVM::StoreOp::create(b, values, b.offset(place, inChunk),
                          /*alignment=*/8);
  }
}

SmallVector<Value> StagedRows::load(unsigned step) {
  const TileGeometry &geometry = frame.geometry;
  int64_t lanes = geometry.lanes, width = std::min<int64_t>(lanes, 4);
  Value row = b.add(b.div(frame.lane, geometry.threadsPerRow()),
                    step * geometry.rowsPerStep());
  Value first = b.mul(b.rem(frame.lane, geometry.threadsPerRow()), lanes);
  Type type = b.getF32Type();
  if (width != 1)
    type = VectorType::get(width, type);
  SmallVector<Value> elements;
  for (int64_t lane = 0; lane != lanes; lane += width) {
    Value element = b.add(first, lane);
    Value place = b.offset(getChunk(row, b.shiftRight(element, 2)),
                           b.shiftLeft(b.bitAnd(element, 3), 2));
    Value loaded = LLVM::LoadOp::create(b, type, place, width * 4);
    for (int64_t i = 0; i != width; ++i)
      elements.push_back(width == 1 ? loaded
                                    : vector::ExtractOp::create(b, loaded, i));
  }
  return elements;
}
