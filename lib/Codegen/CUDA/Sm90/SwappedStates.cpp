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

#include "SwappedStates.h"

using namespace mlir;
using namespace mlir::tenon;

/// A thread's rows of every 8.
static constexpr int64_t kRows = 2, kBlockRows = 8;
/// A lane's rows that are reduced in one pass.
static constexpr int64_t kTogether = 16;
/// The bits of a lane's number that tell which rows of a column it has.
static constexpr int64_t kRowBits[] = {1, 2};

SwappedStates::SwappedStates(TiledFrame &frame, ReductionEpilogueOp reduction,
                             const WorkItem &item)
    : frame(frame), b(frame.b), reduction(reduction) {
  countRows(item);
}

/// How many of the lane's rows exist, and of the lanes that it meets. Rows that
/// do not exist come last.
void SwappedStates::countRows(const WorkItem &item) {
  int64_t tileM = frame.geometry.tileM, rows = tileM / kBlockRows * kRows;
  if (!frame.geometry.hasRaggedRows()) {
    for (unsigned step = 0; step != std::size(kRowBits); ++step) {
      counts.push_back(b.f32(rows << step));
      received.push_back(counts.back());
    }
    counts.push_back(b.f32(rows << std::size(kRowBits)));
    return;
  }
  left = b.sub(frame.m, b.add(item.row, frame.getLanePair()));
  left = b.minSigned(b.maxSigned(left, b.i32(0)), b.i32(tileM));
  Value blocks = b.div(left, kBlockRows), rest = b.rem(left, kBlockRows);
  Value count = b.add(b.mul(blocks, kRows), b.min(rest, b.i32(kRows)));
  counts.push_back(arith::UIToFPOp::create(b, b.getF32Type(), count));
  for (int64_t bit : kRowBits) {
    received.push_back(b.shuffleXor(counts.back(), bit));
    counts.push_back(arith::AddFOp::create(b, counts.back(), received.back()));
  }
}

/// The column's first element, which the first of its lanes has.
Value SwappedStates::getOrigin(Value first) {
  // What is no row may be no number either.
  if (left)
    first = b.select(b.less(b.i32(0), left), first, b.f32(0));
  return b.shuffleFrom(first, b.bitAnd(frame.lane, ~3));
}

/// `distance`, or 0 where the lane's row `number` does not exist. `own` is what
/// is left of x; null: all exist.
Value SwappedStates::maskMissing(Value distance, int64_t number, Value own) {
  if (!own)
    return distance;
  int64_t inTile = number / kRows * kBlockRows + number % kRows;
  return b.select(b.less(b.i32(inTile), own), distance, b.f32(0));
}

/// The state of the lane's rows from number `first` on, of which `count` exist,
/// relative to the origin.
SmallVector<Value> SwappedStates::reduceRows(ValueRange elements, int64_t first,
                                             Value count, Value origin,
                                             Value own) {
  SmallVector<Value> distances;
  for (auto [index, element] : llvm::enumerate(elements.drop_front()))
    distances.push_back(
        maskMissing(arith::SubFOp::create(b, element, elements.front()),
                    first + 1 + static_cast<int64_t>(index), own));
  Value shift = maskMissing(arith::SubFOp::create(b, elements.front(), origin),
                            first, own);
  return reduction.emitMove(
      b, b.getLoc(), reduction.emitDistances(b, b.getLoc(), count, distances),
      shift);
}

/// How many of `size` rows from the lane's number `first` on exist.
Value SwappedStates::getCount(int64_t first, int64_t size) {
  if (!left)
    return b.f32(size);
  Value count = arith::SubFOp::create(b, counts.front(), b.f32(first));
  count = arith::MaximumFOp::create(b, count, b.f32(0));
  return arith::MinimumFOp::create(b, count, b.f32(size));
}

/// That of all rows of the lane. Of a few rows relative to one of them little
/// of M2 cancels, of all too much would.
SmallVector<Value> SwappedStates::reduceLane(ValueRange elements,
                                             Value origin) {
  // Anew for each column: a predicate for each row would be kept otherwise.
  Value own = left ? b.readAnew(left) : Value();
  int64_t size = elements.size();
  SmallVector<Value> state;
  for (int64_t first = 0; first < size; first += kTogether) {
    int64_t next = std::min(kTogether, size - first);
    Value count = getCount(first, next);
    SmallVector<Value> others =
        reduceRows(elements.slice(first, next), first, count, origin, own);
    state = first == 0
                ? others
                : reduction.emitCombine(b, b.getLoc(), getCount(0, first),
                                        state, count, others);
  }
  return state;
}

ReductionState SwappedStates::reduce(ValueRange elements) {
  Value origin = getOrigin(elements.front());
  SmallVector<Value> state = reduceLane(elements, origin);
  for (auto [step, bit] : llvm::enumerate(kRowBits)) {
    SmallVector<Value> other;
    for (Value scalar : state)
      other.push_back(b.shuffleXor(scalar, bit));
    state = reduction.emitCombine(b, b.getLoc(), counts[step], state,
                                  received[step], other);
  }
  return {counts.back(), state, origin};
}
