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
/// ahead, and has the others from where they are.
bool SwappedEpilogue::loadsRowsAhead() {
  auto isOfF32 = [](BlockArgument operand) {
    return getComputeType(getElementTypeOrSelf(operand.getType())).isF32();
  };
  return frame.geometry.m != 1 && llvm::all_of(perRow, isOfF32);
}

/// Loads `operand` for `count` rows from the tile's `first`-th on.
SmallVector<Value> SwappedEpilogue::loadRows(const WorkItem &item,
                                             BlockArgument operand, Value first,
                                             int64_t count) {
  SmallVector<Value> loaded;
  for (int64_t row = 0; row < count; row += kWarpRows) {
    Value mine = b.add(b.add(b.add(item.row, first), row), frame.lane);
    if (frame.geometry.hasRaggedRows() || count % kWarpRows != 0)
      mine = b.min(mine, b.sub(frame.m, 1));
    Value offset =
        getOffset(b, operand.getType(), b.toI64(mine), /*column=*/Value());
    llvm::append_range(loaded,
                       loadLanes(b, frame.operands.at(operand), offset,
                                 getElementTypeOrSelf(operand.getType()),
                                 /*lanes=*/1));
  }
  return loaded;
}

/// Of subtiles `first` to `end`.
void SwappedEpilogue::prepareRows(const WorkItem &item, int64_t first,
                                  int64_t end) {
  if (!loadsRowsAhead())
    return;
  // Subtiles follow each other along M, and then along N.
  int64_t tileM = frame.geometry.tileM;
  int64_t firstRow = first * rows % tileM;
  int64_t endOfRows = firstRow + (end - first) * rows;
  if (endOfRows > tileM) {
    firstRow = 0;
    endOfRows = tileM;
  }
  firstOfRows = b.i32(firstRow);
  for (BlockArgument operand : perRow)
    ofRows.push_back(
        loadRows(item, operand, firstOfRows, endOfRows - firstRow));
}

/// As many subtiles as make 32 rows, of which a lane has one, if any do.
int64_t SwappedEpilogue::getMostLoaded() {
  if (perRow.empty() || !loadsRowsAhead())
    return 0;
  return kWarpRows % rows == 0 ? kWarpRows / rows : 1;
}

SmallVector<Value> SwappedEpilogue::loadRounds(const WorkItem &item,
                                               Value round, int64_t count) {
  SmallVector<Value> loaded;
  Value first = getFirstRow(b.add(round, getFirstHeld()));
  for (BlockArgument operand : perRow)
    llvm::append_range(loaded, loadRows(item, operand, first, rows * count));
  return loaded;
}

void SwappedEpilogue::beginRound(ValueRange loaded, Value round,
                                 int64_t before) {
  if (loaded.empty())
    return;
  ofRows.clear();
  firstOfRows = b.sub(getFirstRow(b.add(round, getFirstHeld())), before * rows);
  size_t ofOperand = loaded.size() / perRow.size();
  for (; !loaded.empty(); loaded = loaded.drop_front(ofOperand))
    ofRows.emplace_back(loaded.take_front(ofOperand));
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
