//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits the reduction of a tile's columns by the threads that have them.
//
//===----------------------------------------------------------------------===//

#include "ColumnStates.h"

using namespace mlir;
using namespace mlir::tenon;

/// A thread's rows of every 8.
static constexpr int64_t kRows = 2, kBlockRows = 8;
/// The bits of a lane's number that tell which rows of a column it has.
static constexpr int64_t kRowBits[] = {1, 2};

ColumnStates::ColumnStates(TiledFrame &frame, ReductionEpilogueOp reduction,
                           const WorkItem &item)
    : frame(frame), b(frame.b), reduction(reduction) {
  countRows(item);
}

void ColumnStates::countRows(const WorkItem &item) {
  int64_t rows = frame.geometry.tileM / kBlockRows * kRows;
  if (!frame.geometry.hasRaggedRows()) {
    for (unsigned step = 0; step != std::size(kRowBits); ++step) {
      counts.push_back(b.f32(rows << step));
      received.push_back(counts.back());
    }
    counts.push_back(b.f32(rows << std::size(kRowBits)));
    return;
  }
  Value first = b.add(item.row, b.shiftLeft(b.bitAnd(frame.lane, 3), 1));
  Value count = b.i32(0);
  for (int64_t i = 0; i != rows; ++i) {
    Value row = b.add(first, i / kRows * kBlockRows + i % kRows);
    inRange.push_back(b.less(row, frame.m));
    count = b.add(count, b.toI32(inRange.back()));
  }
  counts.push_back(arith::UIToFPOp::create(b, b.getF32Type(), count));
  for (int64_t bit : kRowBits) {
    received.push_back(b.shuffleXor(counts.back(), bit));
    counts.push_back(arith::AddFOp::create(b, counts.back(), received.back()));
  }
}

/// The column's first element, which the first of its lanes has.
Value ColumnStates::getOrigin(Value first) {
  // What is no row may be no number either.
  if (!inRange.empty())
    first = b.select(inRange.front(), first, b.f32(0));
  return b.shuffleFrom(first, b.bitAnd(frame.lane, ~3));
}

/// The state of some rows: of halves before halves, so that few are held.
ReductionState ColumnStates::reduceRows(ValueRange distances, size_t first,
                                        size_t count) {
  if (count == 1) {
    Value one = b.f32(1);
    if (!inRange.empty())
      one = b.select(inRange[first], one, b.f32(0));
    return {one, reduction.emitChunk(b, b.getLoc(), distances[first]), {}};
  }
  size_t half = (count + 1) / 2;
  ReductionState lhs = reduceRows(distances, first, half);
  ReductionState rhs = reduceRows(distances, first + half, count - half);
  return {arith::AddFOp::create(b, lhs.count, rhs.count),
          reduction.emitCombine(b, b.getLoc(), lhs.count, lhs.scalars,
                                rhs.count, rhs.scalars),
          {}};
}

ReductionState ColumnStates::reduce(ValueRange elements) {
  Value origin = getOrigin(elements.front());
  SmallVector<Value> distances;
  for (auto [row, element] : llvm::enumerate(elements)) {
    Value distance = arith::SubFOp::create(b, element, origin);
    if (!inRange.empty())
      distance = b.select(inRange[row], distance, b.f32(0));
    distances.push_back(distance);
  }
  ReductionState state = reduceRows(distances, 0, distances.size());
  for (auto [step, bit] : llvm::enumerate(kRowBits)) {
    SmallVector<Value> other;
    for (Value scalar : state.scalars)
      other.push_back(b.shuffleXor(scalar, bit));
    state.scalars = reduction.emitCombine(b, b.getLoc(), counts[step],
                                          state.scalars, received[step], other);
  }
  state.count = counts.back();
  state.origin = origin;
  return state;
}
