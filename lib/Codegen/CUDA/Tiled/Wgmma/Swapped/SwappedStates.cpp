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
/// A lane's rows, its first ones, of whose mean a column's distances are taken.
/// A mean of r of n rows is (n - r) / r variances off that of all, squared, at
/// most: so with 256 rows 3 bits of M2 cancel in the worst case.
static constexpr int64_t kSampleRows = 8;
/// The bits of a lane's number that tell which rows of a column it has.
static constexpr int64_t kRowBits[] = {1, 2};

SwappedStates::SwappedStates(TiledFrame &frame, ReductionEpilogueOp reduction,
                             const WorkItem &item)
    : frame(frame), b(frame.b), reduction(reduction) {
  countRows(item);
}

/// How many of the lane's rows exist, and of the lanes that it meets; and the
/// share that a row has in a sample. Rows that do not exist come last.
void SwappedStates::countRows(const WorkItem &item) {
  int64_t tileM = frame.geometry.tileM, rows = tileM / kBlockRows * kRows;
  int64_t sample = std::min(tileM, kSampleRows / kRows * kBlockRows);
  if (!frame.geometry.hasRaggedRows()) {
    share = b.f32(1.0f / sample);
    for (unsigned step = 0; step != std::size(kRowBits); ++step) {
      counts.push_back(b.f32(rows << step));
      received.push_back(counts.back());
    }
    counts.push_back(b.f32(rows << std::size(kRowBits)));
    return;
  }
  Value ofTile = b.maxSigned(b.sub(frame.m, item.row), b.i32(1));
  Value sampled =
      arith::UIToFPOp::create(b, b.getF32Type(), b.min(ofTile, b.i32(sample)));
  share = arith::DivFOp::create(b, b.f32(1), sampled);
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

/// `value`, or 0 where the lane's row `number` does not exist, whose element
/// may be no number. `own` is what is left of x; null: all exist.
Value SwappedStates::maskMissing(Value value, int64_t number, Value own) {
  if (!own)
    return value;
  int64_t inTile = number / kRows * kBlockRows + number % kRows;
  return b.select(b.less(b.i32(inTile), own), value, b.f32(0));
}

/// A number amid the column's elements: the mean of some of each lane's.
Value SwappedStates::getOrigin(ValueRange elements, Value own) {
  Value mean = b.f32(0);
  for (auto [number, element] :
       llvm::enumerate(elements.take_front(kSampleRows)))
    mean =
        math::FmaOp::create(b, maskMissing(element, number, own), share, mean);
  for (int64_t bit : kRowBits)
    mean = arith::AddFOp::create(b, mean, b.shuffleXor(mean, bit));
  return mean;
}

ReductionState SwappedStates::reduce(MutableArrayRef<Value> elements) {
  // Anew for each column: a predicate for each row would be kept otherwise.
  Value own = left ? b.readAnew(left) : Value();
  Value origin = getOrigin(ValueRange(elements), own);
  for (auto [number, element] : llvm::enumerate(elements))
    element =
        maskMissing(arith::SubFOp::create(b, element, origin), number, own);
  SmallVector<Value> state = reduction.emitDistances(
      b, b.getLoc(), counts.front(), ValueRange(elements));
  for (auto [step, bit] : llvm::enumerate(kRowBits)) {
    SmallVector<Value> other;
    for (Value scalar : state)
      other.push_back(b.shuffleXor(scalar, bit));
    state = reduction.emitCombine(b, b.getLoc(), counts[step], state,
                                  received[step], other);
  }
  return {counts.back(), state, origin};
}
