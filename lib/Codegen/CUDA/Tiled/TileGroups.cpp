//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One group after the other is finished, so that what was found of it need not
// stay in registers beside that of all others.
//
//===----------------------------------------------------------------------===//

#include "TileGroups.h"

#include "StoreLanes.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::tenon;

/// Columns of a block, and lanes that have a row of it.
static constexpr int64_t kBlockColumns = 8, kLanes = 4;

TileGroups::TileGroups(TiledFrame &frame, TiledLinearOp op,
                       const WorkItem &item)
    : frame(frame), b(frame.b), op(op), item(item),
      numRows(frame.geometry.warpM() / 8),
      groupColumns(frame.geometry.groupColumns()),
      sharingLanes(std::min(groupColumns, kBlockColumns) * kLanes /
                   kBlockColumns),
      blocksTogether(llvm::divideCeil(groupColumns, kBlockColumns)) {
  Value first =
      b.add(b.add(item.row, frame.warpRow), b.shiftRight(frame.lane, 2));
  for (int64_t number = 0; number != numRows; ++number) {
    rows.push_back(b.add(first, number / 2 * frame.geometry.rowBlockStride() +
                                    number % 2 * 8));
    clampedRows.push_back(b.toI64(b.min(rows.back(), b.sub(frame.m, 1))));
  }
  for (Value value : op.getYield().getValues())
    if (TiledLinearOp::isOfRows(value))
      found.emplace_back(value, Results());
}

/// Which column of its group is the thread's first, f32.
Value TileGroups::getFirstNumber() {
  Value column = frame.getLanePair();
  if (groupColumns < kBlockColumns)
    column = b.bitAnd(column, groupColumns - 1);
  return arith::SIToFPOp::create(b, b.getF32Type(), column);
}

TileGroups::Results TileGroups::reduce(const RowPhase &phase,
                                       ColumnBlocks columns,
                                       ValueRange elements) {
  ReduceRowOp reduction = phase.reduction;
  Value firstNumber = reduction.givesPlace() ? getFirstNumber() : Value();
  int64_t columnBlocks = frame.geometry.warpN() / kBlockColumns;
  // Those of both columns of each block apart: a chain of half the length.
  States states(2 * numRows);
  emitOnFragments(
      frame, op, phase.phase, phase.input, item, elements,
      [](ElementEmitter &, int64_t) {},
      [&](int64_t block, ArrayRef<Value> computed) {
        int64_t column = (block % columnBlocks - columns.first) * kBlockColumns;
        for (auto [i, element] : llvm::enumerate(computed)) {
          ReduceRowOp::State added{element};
          if (firstNumber)
            added.push_back(
                arith::AddFOp::create(b, firstNumber, b.f32(column + i % 2)));
          ReduceRowOp::State &state = states[block / columnBlocks * 4 + i];
          state = state.empty() ? added
                                : reduction.emitCombine(b, state, added,
                                                        /*isLater=*/true);
        }
      },
      columns);
  Results results;
  for (int64_t row = 0; row != numRows; ++row) {
    ReduceRowOp::State state =
        reduction.emitCombine(b, states[2 * row], states[2 * row + 1]);
    for (int64_t mask = 1; mask != sharingLanes; mask *= 2) {
      ReduceRowOp::State other;
      for (Value value : state)
        other.push_back(frame.shuffleXor(value, mask));
      state = reduction.emitCombine(b, state, other);
    }
    results.push_back(reduction.emitFinish(b, state));
  }
  return results;
}

/// Computes what is stored of the groups that were reduced last.
void TileGroups::keepResults() {
  ElementEmitter emitter(b, frame.operands, /*column=*/b.i64(0), /*lanes=*/1);
  emitter.beginRows(clampedRows, /*operands=*/{});
  for (auto &[operand, values] : frame.rowValues)
    for (int64_t row = 0; row != numRows; ++row)
      emitter.set(operand, row, /*lane=*/0, values[row]);
  for (auto &[value, results] : found)
    for (int64_t row = 0; row != numRows; ++row)
      results.push_back(emitter.get(value, row, /*lane=*/0));
}

/// Lanes that have the same group store one each, so that the four lanes of a
/// row store four that are neighbours.
void TileGroups::storeResults() {
  const TileGeometry &geometry = frame.geometry;
  int64_t numSets = geometry.warpN() / (blocksTogether * kBlockColumns);
  Value lane = b.bitAnd(frame.lane, kLanes - 1);
  Value which = b.bitAnd(lane, sharingLanes - 1);
  Value first = b.div(b.add(item.column, frame.warpColumn), groupColumns);
  int64_t groupsOfSet = kLanes / sharingLanes;
  for (auto [value, output] :
       llvm::zip(op.getYield().getValues(), frame.outputs)) {
    auto *results = llvm::find_if(
        found, [&, value = value](auto &each) { return each.first == value; });
    if (results == found.end())
      continue;
    Type type = getElementTypeOrSelf(value);
    for (int64_t set = 0; set < numSets; set += sharingLanes)
      for (int64_t row = 0; row != numRows; ++row) {
        int64_t count = std::min(sharingLanes, numSets - set);
        Value stored = results->second[set * numRows + row];
        for (int64_t i = 1; i != count; ++i)
          stored = b.select(b.equal(which, i),
                            results->second[(set + i) * numRows + row], stored);
        Value ofLane = b.add(b.mul(b.add(which, set), groupsOfSet),
                             b.div(lane, sharingLanes));
        Value group = b.add(first, ofLane);
        Value isThere = b.less(rows[row], frame.m);
        if (count != sharingLanes)
          isThere = b.both(isThere, b.less(which, count));
        if (geometry.hasRaggedColumns())
          isThere = b.both(isThere, b.less(group, geometry.groups));
        Value place =
            b.add(b.mul(clampedRows[row], geometry.groups), b.toI64(group));
        emitStoreLanes(b, output, place, type, stored, isThere);
      }
  }
}

/// What the first reduction takes is computed of all columns at once, so that
/// no load of an operand waits for another.
SmallVector<Value> TileGroups::emit(ValueRange accumulators) {
  SmallVector<Value> elements(accumulators);
  computeSource(frame, op, frame.rowPhases.front(), item, /*readsAnew=*/true,
                elements);
  int64_t columnBlocks = frame.geometry.warpN() / kBlockColumns;
  for (int64_t block = 0; block != columnBlocks; block += blocksTogether) {
    ColumnBlocks columns{block, blocksTogether};
    for (auto [number, phase] : llvm::enumerate(frame.rowPhases)) {
      if (number != 0)
        computeSource(frame, op, phase, item, /*readsAnew=*/true, elements,
                      columns);
      if (phase.reduction)
        frame.rowValues[phase.result] = reduce(phase, columns, elements);
    }
    keepResults();
    frame.rowValues.clear();
  }
  storeResults();
  return elements;
}
