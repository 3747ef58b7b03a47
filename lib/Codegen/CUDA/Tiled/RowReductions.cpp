//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thread combines its columns, the four lanes of a row meet by shuffles, and
// where several warps have parts of a row they meet in shared memory: always in
// the same order.
//
//===----------------------------------------------------------------------===//

#include "RowReductions.h"

#include "ReducedInput.h"
#include "TileGroups.h"

#include "tenon/Schedule/Checks/Schedule.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::tenon;

RowReductions::RowReductions(TiledFrame &frame, TiledLinearOp op)
    : frame(frame), b(frame.b), op(op), numRows(frame.geometry.warpM() / 8) {
  if (frame.geometry.hasResidentRows())
    exchange.emplace(frame, op);
}

/// Where the thread's row by that number lies, from its first on: two of each
/// block of 16.
int64_t RowReductions::getRow(int64_t number) const {
  return number / 2 * frame.geometry.rowBlockStride() + number % 2 * 8;
}

/// The number of the thread's first column in the matrix, f32.
Value RowReductions::getColumns(const WorkItem &item) {
  Value first =
      b.add(b.add(item.column, frame.warpColumn), frame.getLanePair());
  return arith::SIToFPOp::create(b, b.getF32Type(), first);
}

RowReductions::States RowReductions::reduceColumns(const RowPhase &phase,
                                                   const WorkItem &item,
                                                   ValueRange accumulators) {
  const TileGeometry &geometry = frame.geometry;
  ReduceRowOp reduction = phase.reduction;
  Value neutral = reduction.emitNeutral(b, b.getF32Type()).front();
  Value firstNumber = reduction.givesPlace() ? getColumns(item) : Value();
  int64_t columnBlocks = geometry.warpN() / 8;
  Value first = b.add(frame.warpColumn, frame.getLanePair());
  bool hasParts = geometry.isReduceOnly() || geometry.hasResidentRows();
  if (hasParts && geometry.hasRaggedColumns())
    first = b.add(first, item.column);
  // Those of both columns of each 8 apart: a chain of half the length.
  States states(2 * numRows);
  emitOnFragments(
      frame, op, phase.phase, phase.input, item, accumulators,
      [](ElementEmitter &, int64_t) {},
      [&](int64_t block, ArrayRef<Value> elements) {
        int64_t column = block % columnBlocks * 8;
        // Of the last warp along N.
        int64_t end = geometry.tileN - geometry.warpN() + column + 8;
        Value numbers[2];
        if (firstNumber)
          for (int64_t i : {0, 1})
            numbers[i] =
                arith::AddFOp::create(b, firstNumber, b.f32(column + i));
        for (int64_t i = 0; i != 4; ++i) {
          Value element = elements[i];
          if (hasParts ? geometry.hasRaggedColumns() : end > geometry.n)
            element = b.select(b.less(b.add(first, column + i % 2), geometry.n),
                               element, neutral);
          ReduceRowOp::State added{element};
          if (firstNumber)
            added.push_back(numbers[i % 2]);
          ReduceRowOp::State &state = states[block / columnBlocks * 4 + i];
          state = state.empty() ? added
                                : reduction.emitCombine(b, state, added,
                                                        /*isLater=*/true);
        }
      });
  States ofRows;
  for (int64_t row = 0; row != numRows; ++row)
    ofRows.push_back(
        reduction.emitCombine(b, states[2 * row], states[2 * row + 1]));
  return ofRows;
}

/// An array of one f32 for each row of the tile; with ping-pong each warpgroup
/// has its own.
Value RowReductions::getArray(int64_t number) {
  const TileGeometry &geometry = frame.geometry;
  int64_t bytes = geometry.tileM * kBytesOfRowState;
  Value array =
      b.offset(frame.shared, geometry.finishedOffset() + number * bytes);
  if (!geometry.schedule.getPingPong() || geometry.isReduceOnly())
    return array;
  return b.offset(array, b.mul(b.sub(frame.warpgroup, 1),
                               getFoundRowArrays(geometry.schedule) * bytes));
}

/// Stores what all four lanes have.
void RowReductions::store(Value array, ArrayRef<Value> values) {
  Value row = b.add(frame.warpRow, b.shiftRight(frame.lane, 2));
  frame.emitIf(b.equal(b.bitAnd(frame.lane, 3), 0), [&] {
    for (auto [number, value] : llvm::enumerate(values))
      storeLanes(b, array, b.add(row, getRow(number)), b.getF32Type(), value);
  });
}

/// Warps take turns at two arrays each: who writes to one again has met all
/// that read it, in the next reduction or in the next tile's main loop. A place
/// takes both arrays, between barriers.
void RowReductions::meetWarps(ReduceRowOp op, States &states, unsigned number) {
  const TileGeometry &geometry = frame.geometry;
  if (geometry.warpsN == 1)
    return;
  int64_t first = getFoundRowArrays(geometry.schedule);
  SmallVector<int64_t, 2> sets{first + number % 2 * geometry.warpsN};
  if (op.givesPlace()) {
    sets.push_back(first + (number + 1) % 2 * geometry.warpsN);
    frame.barrier();
  }
  Value own = b.div(frame.warpColumn, geometry.warpN());
  int64_t bytes = geometry.tileM * kBytesOfRowState;
  for (auto [part, set] : llvm::enumerate(sets)) {
    Results values;
    for (const ReduceRowOp::State &state : states)
      values.push_back(state[part]);
    store(b.offset(getArray(set), b.mul(own, bytes)), values);
  }
  frame.barrier();
  Value row = b.add(frame.warpRow, b.shiftRight(frame.lane, 2));
  for (int64_t number = 0; number != numRows; ++number) {
    Value place = b.add(row, getRow(number));
    ReduceRowOp::State all;
    for (int64_t warp = 0; warp != geometry.warpsN; ++warp) {
      ReduceRowOp::State other;
      for (int64_t set : sets)
        other.push_back(loadLanes(b, getArray(set + warp), place,
                                  b.getF32Type(), /*lanes=*/1)[0]);
      all = all.empty() ? other : op.emitCombine(b, all, other);
    }
    states[number] = all;
  }
  if (op.givesPlace())
    frame.barrier();
}

/// From here on a phase's result is an operand in shared memory.
void RowReductions::keepResult(unsigned number, const WorkItem &item,
                               const Results &results) {
  // Warps that share rows write the same, and each reads what it wrote.
  Value array = getArray(number);
  store(array, results);
  frame.syncWarp();
  // Operands are found by rows of the matrix.
  Value ahead = b.mul(b.toI64(item.row), -kBytesOfRowState);
  frame.operands[frame.rowPhases[number].result] = b.offset(array, ahead);
}

/// What stands for a phase's result in the phases that follow.
void RowReductions::finish(const RowPhase &phase, unsigned number,
                           const WorkItem &item, const States &states) {
  ReduceRowOp reduction = phase.reduction;
  Results results;
  for (auto [row, state] : llvm::enumerate(states))
    results.push_back(
        exchange ? exchange->finishPart(number, item, state.front(), row)
                 : reduction.emitFinish(b, state));
  if (exchange || frame.geometry.isReduceOnly())
    frame.rowValues[phase.result] = std::move(results);
  else
    keepResult(number, item, results);
}

void RowReductions::emitExchange(const WorkItem &item, Value turn,
                                 Value turns) {
  frame.rowValues.clear();
  Value own = b.add(frame.warpRow, b.shiftRight(frame.lane, 2));
  SmallVector<Value> inTile;
  for (int64_t number = 0; number != numRows; ++number)
    inTile.push_back(b.add(own, getRow(number)));
  if (frame.geometry.exchangesRows())
    exchange->publish(item, turn, inTile);
  SmallVector<Results> results(frame.rowPhases.size());
  for (auto [number, row] : llvm::enumerate(inTile)) {
    Value inMatrix = b.min(b.add(item.row, row), b.sub(frame.m, 1));
    for (auto [ofPhase, result] : llvm::zip_equal(
             results, exchange->combine(turn, number, b.toI64(inMatrix))))
      ofPhase.push_back(result);
  }
  exchange->forget();
  if (frame.geometry.exchangesRows() && frame.geometry.hasOtherWarps()) {
    int64_t step = frame.geometry.schedule.getPingPong() ? 2 : 1;
    frame.emitIf(b.less(b.sub(turns, 1), b.add(turn, step)),
                 [&] { exchange->end.arrive(); });
  }
  for (auto [number, ofPhase] : llvm::enumerate(results))
    keepResult(number, item, ofPhase);
}

/// A warpgroup without a turn has nothing to read.
void RowReductions::start(Value first, Value turns) {
  Value hasNone =
      b.both(b.less(b.i32(0), turns), b.less(b.sub(turns, 1), first));
  frame.emitIf(hasNone, [&] { exchange->end.arrive(); });
}

SmallVector<Value> RowReductions::emit(const WorkItem &item,
                                       ValueRange accumulators, Value turn,
                                       Value turns) {
  if (frame.geometry.hasGroupsInTile())
    return TileGroups(frame, op, item).emit(accumulators);
  SmallVector<Value> elements(accumulators);
  for (auto [number, phase] : llvm::enumerate(frame.rowPhases)) {
    computeSource(frame, op, phase, item,
                  /*readsAnew=*/exchange.has_value(), elements);
    States states = reduceColumns(phase, item, elements);
    reduceLanes(frame, phase.reduction, states);
    meetWarps(phase.reduction, states, number);
    finish(phase, number, item, states);
  }
  if (exchange)
    emitExchange(item, turn, turns);
  storeResults(item);
  frame.rowValues.clear();
  return elements;
}

void RowReductions::storeResults(const WorkItem &item) {
  Value own =
      b.add(b.add(item.row, frame.warpRow), b.shiftRight(frame.lane, 2));
  SmallVector<Value> rows, clamped;
  for (int64_t number = 0; number != numRows; ++number) {
    rows.push_back(b.add(own, getRow(number)));
    clamped.push_back(b.toI64(b.min(rows.back(), b.sub(frame.m, 1))));
  }
  Value isFirst =
      b.both(b.equal(b.bitAnd(frame.lane, 3), 0), b.equal(frame.warpColumn, 0));
  const TileGeometry &geometry = frame.geometry;
  Value part;
  if (exchange) {
    // Of a group's tiles the first stores.
    Value inGroup = item.column;
    if (geometry.groups != 1)
      inGroup = b.rem(inGroup, geometry.groupColumns());
    isFirst = b.both(isFirst, b.equal(inGroup, 0));
    part = b.toI64(b.div(item.column, geometry.groupColumns()));
  }
  if (geometry.isReduceOnly()) {
    part = b.toI64(b.div(item.column, frame.geometry.tileN));
    // Of a cluster, tiles may lie beyond N.
    if (frame.geometry.hasRaggedColumns())
      isFirst = b.both(isFirst, b.less(item.column, frame.geometry.n));
  }
  ElementEmitter emitter(b, frame.operands, /*column=*/b.i64(0), /*lanes=*/1);
  emitter.beginRows(clamped, /*operands=*/{});
  for (auto &[operand, values] : frame.rowValues)
    for (int64_t number = 0; number != numRows; ++number)
      emitter.set(operand, number, /*lane=*/0, values[number]);
  for (auto [value, output] :
       llvm::zip(op.getYield().getValues(), frame.outputs)) {
    if (!TiledLinearOp::isOfRows(value))
      continue;
    auto parts = value.getDefiningOp<RowPartsOp>();
    for (int64_t number = 0; number != numRows; ++number) {
      Value result = emitter.get(parts ? parts.getInput() : value, number,
                                 /*lane=*/0);
      Value stores = b.both(isFirst, b.less(rows[number], frame.m));
      Value place = clamped[number];
      if (int64_t columns =
              parts ? parts.getType().getDimSize(1) : geometry.groups;
          columns != 1)
        place = b.add(b.mul(place, columns), part);
      frame.emitIf(stores, [&, value = value, output = output] {
        storeLanes(b, output, place, getElementTypeOrSelf(value), result);
      });
    }
  }
}
