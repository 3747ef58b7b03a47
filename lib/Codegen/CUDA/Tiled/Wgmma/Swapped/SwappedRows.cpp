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
/// computed they would be waited for each time. A lane loads one of each 32
/// ahead, and has the others from where they are; in a loop a thread loads its
/// own of a step, when it is done with the step before.
bool SwappedEpilogue::loadsRowsAhead() {
  auto isOfF32 = [](BlockArgument operand) {
    return getComputeType(getElementTypeOrSelf(operand.getType())).isF32();
  };
  return frame.geometry.m != 1 && llvm::all_of(perRow, isOfF32);
}

/// Loads `operand` for `count` rows from the tile's `first`-th on.
SmallVector<Value> SwappedEpilogue::loadRows(const WorkItem &item,
                                             BlockArgument operand,
                                             int64_t first, int64_t count) {
  SmallVector<Value> loaded;
  for (int64_t row = 0; row < count; row += kWarpRows) {
    Value mine = b.add(b.add(item.row, first + row), frame.lane);
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
  firstOfRows = firstRow;
  for (BlockArgument operand : perRow)
    ofRows.push_back(loadRows(item, operand, firstRow, endOfRows - firstRow));
}

/// At once where both rows are there, or none. Pointers are aligned, and so is
/// an even row.
SmallVector<Value> SwappedEpilogue::loadRowPair(BlockArgument operand,
                                                Value row) {
  auto load = [&](Value row, unsigned lanes) {
    if (frame.geometry.hasRaggedRows())
      row = b.min(row, b.sub(frame.m, lanes));
    Value offset =
        getOffset(b, operand.getType(), b.toI64(row), /*column=*/Value());
    return loadLanes(b, frame.operands.at(operand), offset,
                     getElementTypeOrSelf(operand.getType()), lanes);
  };
  int64_t m = frame.geometry.m;
  if (!ShapedType::isDynamic(m) && m % 2 == 0)
    return load(row, 2);
  SmallVector<Value> pair = load(row, 1);
  llvm::append_range(pair, load(b.add(row, 1), 1));
  return pair;
}

/// Of each operand what the thread has of the step's rows.
SmallVector<Value> SwappedEpilogue::loadStep(const WorkItem &item,
                                             DeferredStep step) {
  SmallVector<Value> loaded;
  if (!loadsRowsAhead())
    return loaded;
  int64_t begin = step.number % getStepsOfSubtile() * getStepBlocks();
  Value first = b.add(b.add(item.row, getFirstRow(getSubtile(step))),
                      frame.getLanePair());
  for (BlockArgument operand : perRow)
    for (int64_t block = begin; block != begin + getStepBlocks(); ++block)
      llvm::append_range(
          loaded,
          loadRowPair(operand, b.add(first, block * Subtile::kBlockRows)));
  return loaded;
}

Value SwappedEpilogue::getOfRow(unsigned operand, Value first, unsigned row) {
  Value ahead = b.sub(first, firstOfRows);
  Value group = b.div(ahead, kWarpRows);
  ArrayRef<Value> groups = ofRows[operand];
  Value value = groups.front();
  for (auto [i, other] : llvm::enumerate(groups.drop_front()))
    value = b.select(b.equal(group, i + 1), other, value);
  Value inBlock = b.add(frame.getLanePair(), row);
  return b.shuffleFrom(value, b.add(b.rem(ahead, kWarpRows), inBlock));
}
