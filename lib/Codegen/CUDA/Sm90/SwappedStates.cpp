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

/// How far the elements are from the origin; 0 where there is no row.
SmallVector<Value> SwappedStates::getDistances(ValueRange elements,
                                               Value origin) {
  // Anew for each column: a predicate for each row would be kept otherwise.
  Value own;
  if (left)
    own = b.ptxRead(b.getI32Type(), "mov.u32 $0, $1;", "=r,r", left);
  SmallVector<Value> distances;
  for (auto [row, element] : llvm::enumerate(elements)) {
    Value distance = arith::SubFOp::create(b, element, origin);
    if (own) {
      auto inTile =
          static_cast<int64_t>(row / kRows * kBlockRows + row % kRows);
      distance = b.select(b.less(b.i32(inTile), own), distance, b.f32(0));
    }
    distances.push_back(distance);
  }
  return distances;
}

ReductionState SwappedStates::reduce(ValueRange elements) {
  Value origin = getOrigin(elements.front());
  SmallVector<Value> state = reduction.emitDistances(
      b, b.getLoc(), counts.front(), getDistances(elements, origin));
  for (auto [step, bit] : llvm::enumerate(kRowBits)) {
    SmallVector<Value> other;
    for (Value scalar : state)
      other.push_back(b.shuffleXor(scalar, bit));
    state = reduction.emitCombine(b, b.getLoc(), counts[step], state,
                                  received[step], other);
  }
  return {counts.back(), state, origin};
}
