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

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::tenon;

/// A thread's elements of a block of 8 columns: two rows of two.
static constexpr int64_t kRows = 2, kLanes = 2;
/// Bits of a lane's number that say which rows it has, from the highest.
static constexpr int64_t kRowBits[] = {16, 8, 4};

ReductionState tenon::combineAll(KernelBuilder &b,
                                 ReductionEpilogueOp reduction,
                                 SmallVector<ReductionState> states) {
  while (states.size() > 1) {
    SmallVector<ReductionState> next;
    for (unsigned i = 0; i + 1 < states.size(); i += 2) {
      ReductionState &lhs = states[i], &rhs = states[i + 1];
      next.push_back(
          {arith::AddFOp::create(b, lhs.count, rhs.count),
           reduction.emitCombine(b, b.getLoc(), lhs.count, lhs.scalars,
                                 rhs.count, rhs.scalars)});
    }
    if (states.size() % 2 == 1)
      next.push_back(states.back());
    states = std::move(next);
  }
  return states.front();
}

FragmentStates::FragmentStates(TiledFrame &frame, ReductionEpilogueOp reduction,
                               const WorkItem &item)
    : frame(frame), b(frame.b), reduction(reduction),
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
    Value row = b.add(first, i / kRows * 64 + i % kRows * 8);
    inRange.push_back(b.less(row, frame.m));
    count = b.add(count, b.toI32(inRange.back()));
  }
  counts.push_back(arith::UIToFPOp::create(b, b.getF32Type(), count));
  for (unsigned step = 0; step != std::size(kRowBits); ++step) {
    received.push_back(shuffle(counts.back(), step));
    counts.push_back(arith::AddFOp::create(b, counts.back(), received.back()));
  }
}

Value FragmentStates::shuffle(Value value, unsigned step) {
  return NVVM::ShflOp::create(b, value.getType(), b.i32(-1), value,
                              b.i32(kRowBits[step]), b.i32(31),
                              NVVM::ShflKind::bfly, UnitAttr());
}

/// Of a column of the thread: two of each block of 8.
ReductionState FragmentStates::reduceRows(ValueRange elements, int64_t column) {
  SmallVector<Value> values;
  for (int64_t i = 0; i != rowBlocks * kRows; ++i) {
    int64_t block = i / kRows * frame.geometry.tileN / 8 + column / kLanes;
    values.push_back(
        elements[(block * kRows + i % kRows) * kLanes + column % kLanes]);
  }
  if (inRange.empty())
    return {counts[0], reduction.emitChunk(b, b.getLoc(), values)};
  SmallVector<ReductionState> rows;
  for (auto [value, isRow] : llvm::zip_equal(values, inRange)) {
    // What is no row may be no number either.
    Value element = b.select(isRow, value, b.f32(0));
    Value count = b.select(isRow, b.f32(1), b.f32(0));
    rows.push_back({count, reduction.emitChunk(b, b.getLoc(), element)});
  }
  return combineAll(b, reduction, rows);
}

/// Keeps the upper half of the columns in lanes that have the step's bit, the
/// lower half in the others.
SmallVector<ReductionState>
FragmentStates::exchange(ArrayRef<ReductionState> states, unsigned step) {
  Value isUpper = b.less(b.i32(0), b.bitAnd(frame.lane, kRowBits[step]));
  size_t half = states.size() / 2;
  SmallVector<ReductionState> result;
  for (size_t i = 0; i != half; ++i) {
    SmallVector<Value> kept, other;
    for (auto [lower, upper] :
         llvm::zip_equal(states[i].scalars, states[half + i].scalars)) {
      kept.push_back(b.select(isUpper, upper, lower));
      other.push_back(shuffle(b.select(isUpper, lower, upper), step));
    }
    result.push_back(
        {counts[step + 1], reduction.emitCombine(b, b.getLoc(), counts[step],
                                                 kept, received[step], other)});
  }
  return result;
}

ReductionState FragmentStates::reduce(ValueRange elements, int64_t group) {
  constexpr int64_t each = kColumns / 4;
  SmallVector<ReductionState> states;
  for (int64_t i = 0; i != each; ++i)
    states.push_back(reduceRows(elements, group * each + i));
  for (unsigned step = 0; step != std::size(kRowBits); ++step)
    states = exchange(states, step);
  return states.front();
}

Value FragmentStates::getColumn() {
  // Bits 4 and 3 have chosen the block of 8 columns, bit 2 one of its two.
  Value block = b.shiftLeft(b.shiftRight(frame.lane, 3), 3);
  Value pair = b.shiftLeft(b.bitAnd(frame.lane, 3), 1);
  return b.add(b.add(block, pair), b.bitAnd(b.shiftRight(frame.lane, 2), 1));
}
