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

#include "SwappedRows.h"

#include "Codegen/CUDA/Emit/ElementEmitter.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::tenon;

/// Rows that follow each other, of which the lanes of a warp have one each.
static constexpr int64_t kWarpRows = 32;

bool SwappedRows::areAhead() const {
  auto isOfF32 = [](BlockArgument operand) {
    return getComputeType(getElementTypeOrSelf(operand.getType())).isF32();
  };
  return frame.geometry.m != 1 && llvm::all_of(plan.getRowOperands(), isOfF32);
}

SmallVector<Value> SwappedRows::load(const WorkItem &item,
                                     BlockArgument operand, int64_t first,
                                     int64_t count) {
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

void SwappedRows::prepare(const WorkItem &item, int64_t first, int64_t end) {
  if (!areAhead())
    return;
  // Subtiles follow each other along M, and then along N.
  int64_t tileM = frame.geometry.tileM;
  int64_t rows = plan.getSubtileRows();
  int64_t firstRow = first * rows % tileM;
  int64_t endOfRows = firstRow + (end - first) * rows;
  if (endOfRows > tileM) {
    firstRow = 0;
    endOfRows = tileM;
  }
  firstAhead = firstRow;
  for (BlockArgument operand : plan.getRowOperands())
    values.push_back(load(item, operand, firstRow, endOfRows - firstRow));
}

/// At once where both rows are there, or none. Pointers are aligned, and so is
/// an even row.
SmallVector<Value> SwappedRows::loadPair(BlockArgument operand, Value row) {
  auto loadFrom = [&](Value row, unsigned lanes) {
    if (frame.geometry.hasRaggedRows())
      row = b.min(row, b.sub(frame.m, lanes));
    Value offset =
        getOffset(b, operand.getType(), b.toI64(row), /*column=*/Value());
    return loadLanes(b, frame.operands.at(operand), offset,
                     getElementTypeOrSelf(operand.getType()), lanes);
  };
  int64_t m = frame.geometry.m;
  if (!ShapedType::isDynamic(m) && m % 2 == 0)
    return loadFrom(row, 2);
  SmallVector<Value> pair = loadFrom(row, 1);
  llvm::append_range(pair, loadFrom(b.add(row, 1), 1));
  return pair;
}

SmallVector<Value> SwappedRows::loadBlocks(const WorkItem &item, Value inTile,
                                           int64_t begin, int64_t end) {
  SmallVector<Value> loaded;
  Value first = b.add(b.add(item.row, inTile), frame.getLanePair());
  for (BlockArgument operand : plan.getRowOperands())
    for (int64_t block = begin; block != end; ++block)
      llvm::append_range(
          loaded,
          loadPair(operand, b.add(first, block * SwappedBlock::kBlockRows)));
  return loaded;
}

Value SwappedRows::get(unsigned operand, Value first, unsigned row) {
  Value ahead = b.sub(first, firstAhead);
  Value group = b.div(ahead, kWarpRows);
  ArrayRef<Value> groups = values[operand];
  Value value = groups.front();
  for (auto [i, other] : llvm::enumerate(groups.drop_front()))
    value = b.select(b.equal(group, i + 1), other, value);
  Value inBlock = b.add(frame.getLanePair(), row);
  return b.shuffleFrom(value, b.add(b.rem(ahead, kWarpRows), inBlock));
}
