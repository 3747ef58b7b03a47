//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits what is the same in all rows of a column.
//
//===----------------------------------------------------------------------===//

#include "SwappedColumns.h"

using namespace mlir;
using namespace mlir::tenon;

Value SwappedColumns::getInTile(int64_t number) {
  Value first = b.add(frame.warpColumn, b.shiftRight(frame.lane, 2));
  return b.add(first,
               number / SwappedBlock::kColumns * EpilogueSubtiles::kRows +
                   number % SwappedBlock::kColumns * 8);
}

size_t SwappedColumns::getNumber(size_t accumulator) const {
  size_t blocks = frame.geometry.tileM / SwappedBlock::kBlockRows;
  return accumulator / SwappedBlock::kElements / blocks *
             SwappedBlock::kColumns +
         accumulator / SwappedBlock::kRows % SwappedBlock::kColumns;
}

/// Loads what is the same in all rows of 64 indices.
void SwappedColumns::prepare(const WorkItem &item, int64_t block) {
  const TileGeometry &geometry = frame.geometry;
  for (int64_t i = 0; i != SwappedBlock::kColumns; ++i) {
    Value column =
        b.add(item.column, getInTile(block * SwappedBlock::kColumns + i));
    Value isInRange;
    if (geometry.hasRaggedColumns()) {
      isInRange = b.less(column, geometry.n);
      column = b.min(column, b.i32(geometry.n - 1));
    }
    indices.push_back(b.toI64(column));
    inRange.push_back(isInRange);
    emitters.push_back(std::make_unique<ElementEmitter>(
        b, frame.operands, indices.back(), /*lanes=*/1));
    // Of a matrix of one row all is, the accumulators too.
    if (geometry.m != 1)
      emitters.back()->emitRowInvariant(plan.getPhase());
    if (finished)
      finished->loadOperands(*emitters.back(), /*lanes=*/1);
  }
}

void SwappedColumns::prepare(const WorkItem &item) {
  for (int64_t block = 0; block != frame.geometry.wgmmaBlocks(); ++block)
    prepare(item, block);
}

void SwappedColumns::forget() {
  emitters.clear();
  indices.clear();
  inRange.clear();
}
