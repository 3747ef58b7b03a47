//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits loads of operands that have one value a row, before they are needed.
//
//===----------------------------------------------------------------------===//

#include "SwappedSubtile.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::tenon;

/// Rows that follow each other, of which the lanes of a warp have one each.
static constexpr int64_t kWarpRows = 32;

/// A thread needs two rows of each 8, each subtile others. Loaded when it is
/// computed they would be waited for each time: a lane loads one of each 32
/// ahead of all subtiles, and has the others from where they are.
void SwappedEpilogue::prepareRows(const WorkItem &item, int64_t first,
                                  int64_t end) {
  const TileGeometry &geometry = frame.geometry;
  auto isOfF32 = [](BlockArgument operand) {
    return getComputeType(getElementTypeOrSelf(operand.getType())).isF32();
  };
  if (geometry.m == 1 || !llvm::all_of(perRow, isOfF32))
    return;
  // Subtiles follow each other along M, and then along N.
  firstOfRows = first * rows % geometry.tileM;
  int64_t endOfRows = firstOfRows + (end - first) * rows;
  if (endOfRows > geometry.tileM) {
    firstOfRows = 0;
    endOfRows = geometry.tileM;
  }
  for (BlockArgument operand : perRow) {
    ofRows.emplace_back();
    for (int64_t row = firstOfRows; row < endOfRows; row += kWarpRows) {
      Value mine = b.add(b.add(item.row, row), frame.lane);
      if (geometry.hasRaggedRows() ||
          (endOfRows - firstOfRows) % kWarpRows != 0)
        mine = b.min(mine, b.sub(frame.m, 1));
      Value offset =
          getOffset(b, operand.getType(), b.toI64(mine), /*column=*/Value());
      llvm::append_range(ofRows.back(),
                         loadLanes(b, frame.operands.at(operand), offset,
                                   getElementTypeOrSelf(operand.getType()),
                                   /*lanes=*/1));
    }
  }
}

Value SwappedEpilogue::getOfRow(unsigned operand, Value row, Value inBlock) {
  Value ahead = b.sub(row, firstOfRows);
  Value group = b.div(ahead, kWarpRows);
  ArrayRef<Value> groups = ofRows[operand];
  Value value = groups.front();
  for (auto [i, other] : llvm::enumerate(groups.drop_front()))
    value = b.select(b.equal(group, i + 1), other, value);
  return b.shuffleFrom(value, b.add(b.rem(ahead, kWarpRows), inBlock));
}
