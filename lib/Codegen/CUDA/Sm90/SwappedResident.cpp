//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits a reduction along M in the order that swapped operands give.
//
//===----------------------------------------------------------------------===//

#include "SwappedResident.h"

#include "ColumnStates.h"

using namespace mlir;
using namespace mlir::tenon;

/// A thread's columns of every 64 and its rows of every 8; lanes that have the
/// same columns.
static constexpr int64_t kColumns = 2, kRows = 2, kLanes = 4;

SwappedResident::SwappedResident(TiledFrame &frame, TiledLinearOp op,
                                 SwappedEpilogue &swapped)
    : ResidentReduction(frame, op), swapped(swapped) {
  swapped.setFinished(finished);
}

/// Where WarpgroupProduct has an element: of the thread's `column`-th column,
/// in the thread's `row`-th row.
static size_t getElement(const TileGeometry &geometry, int64_t column,
                         int64_t row) {
  int64_t block = column / kColumns * geometry.tileM / 8 + row / kRows;
  return (block * kColumns + column % kColumns) * kRows + row % kRows;
}

static int64_t getNumColumns(const TileGeometry &geometry) {
  return geometry.wgmmaBlocks() * kColumns;
}

static int64_t getNumRows(const TileGeometry &geometry) {
  return geometry.tileM / 8 * kRows;
}

/// What is reduced, in the places of the accumulators: these themselves, if the
/// reduction is of them. It depends on no operand with rows.
SmallVector<Value> SwappedResident::computeReduced(const WorkItem &item,
                                                   ValueRange accumulators) {
  SmallVector<Value> elements(accumulators);
  Value input = reduction.getReducedInput();
  if (affine || input == op.getAccumulator())
    return elements;
  const TileGeometry &geometry = frame.geometry;
  for (int64_t column = 0; column != getNumColumns(geometry); ++column) {
    Value place = b.add(item.column, swapped.getColumnInTile(column));
    if (geometry.hasRaggedColumns())
      place = b.min(place, b.i32(geometry.n - 1));
    ElementEmitter emitter(b, frame.operands, b.toI64(place), /*lanes=*/1);
    for (int64_t row = 0; row != getNumRows(geometry); ++row) {
      Value &element = elements[getElement(geometry, column, row)];
      emitter.set(op.getAccumulator(), row, /*lane=*/0, element);
      element = emitter.get(input, row, /*lane=*/0);
    }
  }
  return elements;
}

/// Each of the lanes that have a column's state takes some of their columns to
/// the other tiles', and back.
void SwappedResident::exchangeStates(const WorkItem &item, Value turn,
                                     ArrayRef<ReductionState> states) {
  auto emitForOwn = [&](llvm::function_ref<void(Value, ReductionState)> body) {
    Value lane = b.bitAnd(frame.lane, kLanes - 1);
    for (size_t first = 0; first < states.size(); first += kLanes) {
      size_t count = std::min<size_t>(states.size() - first, kLanes);
      ReductionState own = states[first];
      Value column = swapped.getColumnInTile(first);
      for (size_t i = 1; i != count; ++i) {
        Value isOwn = b.equal(lane, i);
        column = b.select(isOwn, swapped.getColumnInTile(first + i), column);
        own.origin = b.select(isOwn, states[first + i].origin, own.origin);
        for (auto [scalar, other] :
             llvm::zip_equal(own.scalars, states[first + i].scalars))
          scalar = b.select(isOwn, other, scalar);
      }
      if (count == kLanes)
        body(column, own);
      else
        frame.emitIf(b.less(lane, count), [&] { body(column, own); });
    }
  };
  emitForOwn([&](Value column, const ReductionState &state) {
    exchange.store(turn, column, state);
  });
  emitForOwn([&](Value column, const ReductionState &) {
    finishColumn(item, turn, column);
  });
}

void SwappedResident::emit(const WorkItem &item, Value turn, Value turns,
                           ValueRange accumulators) {
  const TileGeometry &geometry = frame.geometry;
  frame.computePlace();
  SmallVector<Value> elements = computeReduced(item, accumulators);
  SmallVector<ReductionState> states;
  ColumnStates columns(frame, reduction, item);
  for (int64_t column = 0; column != getNumColumns(geometry); ++column) {
    SmallVector<Value> ofColumn;
    for (int64_t row = 0; row != getNumRows(geometry); ++row)
      ofColumn.push_back(elements[getElement(geometry, column, row)]);
    states.push_back(columns.reduce(ofColumn));
  }
  exchangeStates(item, turn, states);
  frame.emitIf(b.equal(b.add(turn, 1), turns), [&] { exchange.arriveAtEnd(); });
  frame.syncWarp(); // its lanes have finished the columns
  swapped.emit(item, elements);
}
