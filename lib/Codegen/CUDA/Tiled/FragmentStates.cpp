//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits the exchange of states between the lanes of a warp.
//
//===----------------------------------------------------------------------===//

#include "FragmentStates.h"

#include "../ElementEmitter.h"

using namespace mlir;
using namespace mlir::tenon;

/// A thread's elements of a block of 8 columns: two rows of two.
static constexpr int64_t kRows = 2, kLanes = 2;
/// Bits of a lane's number that say which rows it has, from the highest.
static constexpr int64_t kRowBits[] = {16, 8, 4};

ReductionState tenon::combineAll(KernelBuilder &b,
                                 ReductionEpilogueOp reduction,
                                 SmallVector<ReductionState> states) {
  Value origin = states.front().origin;
  for (ReductionState &state : MutableArrayRef(states).drop_front()) {
    Value distance = arith::SubFOp::create(b, state.origin, origin);
    state.scalars = reduction.emitMove(b, b.getLoc(), state.scalars, distance);
  }
  while (states.size() > 1) {
    SmallVector<ReductionState> next;
    for (unsigned i = 0; i + 1 < states.size(); i += 2) {
      ReductionState &lhs = states[i], &rhs = states[i + 1];
      next.push_back(
          {arith::AddFOp::create(b, lhs.count, rhs.count),
           reduction.emitCombine(b, b.getLoc(), lhs.count, lhs.scalars,
                                 rhs.count, rhs.scalars),
           origin});
    }
    if (states.size() % 2 == 1)
      next.push_back(states.back());
    states = std::move(next);
  }
  return states.front();
}

FragmentStates::FragmentStates(TiledFrame &frame, ReductionEpilogueOp reduction,
                               const WorkItem &item, Value memory)
    : frame(frame), b(frame.b), reduction(reduction), memory(memory),
      rowBlocks(frame.geometry.warpM() / 16) {
  countRows(item);
}

void FragmentStates::countRows(const WorkItem &item) {
  if (!frame.geometry.hasRaggedRows()) {
    for (unsigned step = 0; step <= std::size(kRowBits); ++step) {
      counts.push_back(b.f32(rowBlocks * kRows << step));
      received.push_back(counts.back());
    }
    return;
  }
  Value first =
      b.add(b.add(item.row, frame.warpRow), b.shiftRight(frame.lane, 2));
  Value count = b.i32(0);
  for (int64_t i = 0; i != rowBlocks * kRows; ++i) {
    Value row = b.add(first, i / kRows * frame.geometry.rowBlockStride() +
                                 i % kRows * 8);
    inRange.push_back(b.less(row, frame.m));
    count = b.add(count, b.toI32(inRange.back()));
  }
  counts.push_back(arith::UIToFPOp::create(b, b.getF32Type(), count));
  for (unsigned step = 0; step != std::size(kRowBits); ++step) {
    received.push_back(frame.shuffleXor(counts.back(), kRowBits[step]));
    counts.push_back(arith::AddFOp::create(b, counts.back(), received.back()));
  }
}

Value FragmentStates::getOrigin(Value inTile) {
  return b.offset(memory, b.mul(inTile, kOriginBytesPerColumn));
}

/// The lanes of the warp's first row.
void FragmentStates::storeOrigins(ValueRange elements) {
  Value inBlock = b.shiftLeft(frame.lane, 1);
  frame.emitIf(b.less(frame.lane, 4), [&] {
    for (int64_t block = 0; block != frame.geometry.warpN() / 8; ++block) {
      SmallVector<Value> first(elements.slice(block * kRows * kLanes, kLanes));
      // What is no row may be no number either.
      if (!inRange.empty())
        for (Value &value : first)
          value = b.select(inRange[0], value, b.f32(0));
      storeLanes(b, getOrigin(b.add(inBlock, 8 * block)), b.i64(0),
                 b.getF32Type(), first);
    }
  });
  frame.syncWarp();
}

/// Of a column of the thread: two of each block of 8. Distances are from its
/// own first row, then those of the state from the warp's: of a few rows
/// relative to one of them little of M2 cancels.
SmallVector<Value> FragmentStates::reduceRows(ValueRange elements,
                                              int64_t column, Value origin) {
  auto getElement = [&](int64_t row) {
    int64_t block = row / kRows * frame.geometry.warpN() / 8 + column / kLanes;
    return elements[(block * kRows + row % kRows) * kLanes + column % kLanes];
  };
  auto getDistance = [&](int64_t row, Value from) -> Value {
    Value distance = arith::SubFOp::create(b, getElement(row), from);
    return inRange.empty() ? distance
                           : b.select(inRange[row], distance, b.f32(0));
  };
  SmallVector<Value> distances;
  for (int64_t row = 1; row != rowBlocks * kRows; ++row)
    distances.push_back(getDistance(row, getElement(0)));
  return reduction.emitMove(
      b, b.getLoc(),
      reduction.emitDistances(b, b.getLoc(), counts.front(), distances),
      getDistance(0, origin));
}

/// Keeps the upper half of the columns in lanes that have the step's bit, the
/// lower half in the others.
SmallVector<SmallVector<Value>>
FragmentStates::exchange(ArrayRef<SmallVector<Value>> columns, unsigned step) {
  Value isUpper = b.less(b.i32(0), b.bitAnd(frame.lane, kRowBits[step]));
  size_t half = columns.size() / 2;
  SmallVector<SmallVector<Value>> result;
  for (size_t i = 0; i != half; ++i) {
    SmallVector<Value> kept, other;
    for (auto [lower, upper] : llvm::zip_equal(columns[i], columns[half + i])) {
      kept.push_back(b.select(isUpper, upper, lower));
      other.push_back(
          frame.shuffleXor(b.select(isUpper, lower, upper), kRowBits[step]));
    }
    result.push_back(reduction.emitCombine(b, b.getLoc(), counts[step], kept,
                                           received[step], other));
  }
  return result;
}

SmallVector<Value> FragmentStates::reduce(ValueRange elements, int64_t group) {
  constexpr int64_t each = kColumns / 4;
  Value inBlock = frame.getLanePair();
  SmallVector<SmallVector<Value>> columns;
  for (int64_t i = 0; i != each; i += kLanes) {
    int64_t block = (group * each + i) / kLanes;
    SmallVector<Value> origins =
        loadLanes(b, getOrigin(b.add(inBlock, 8 * block)), b.i64(0),
                  b.getF32Type(), kLanes);
    for (auto [lane, origin] : llvm::enumerate(origins))
      columns.push_back(reduceRows(elements, group * each + i + lane, origin));
  }
  for (unsigned step = 0; step != std::size(kRowBits); ++step)
    columns = exchange(columns, step);
  return columns.front();
}

Value FragmentStates::getColumn() {
  // Bits 4 and 3 have chosen the block of 8 columns, bit 2 one of its two.
  Value block = b.shiftLeft(b.shiftRight(frame.lane, 3), 3);
  Value pair = frame.getLanePair();
  return b.add(b.add(block, pair), b.bitAnd(b.shiftRight(frame.lane, 2), 1));
}
