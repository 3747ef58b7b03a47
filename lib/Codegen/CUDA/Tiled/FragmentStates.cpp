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

#include "Codegen/CUDA/Emit/ElementEmitter.h"

using namespace mlir;
using namespace mlir::tenon;

/// A thread's elements of a block of 8 columns: two rows of two.
static constexpr int64_t kRows = 2, kLanes = 2;
/// Bits of a lane's number that say which rows it has, from the highest.
static constexpr int64_t kRowBits[] = {16, 8, 4};

static ReductionState combineTree(KernelBuilder &b,
                                  ReductionEpilogueOp reduction,
                                  SmallVector<ReductionState> states) {
  while (states.size() > 1) {
    SmallVector<ReductionState> next;
    for (unsigned i = 0; i + 1 < states.size(); i += 2) {
      ReductionState &lhs = states[i], &rhs = states[i + 1];
      next.push_back(
          {arith::AddFOp::create(b, lhs.count, rhs.count),
           reduction.emitCombine(b, b.getLoc(), lhs.count, lhs.scalars,
                                 rhs.count, rhs.scalars),
           lhs.origin});
    }
    if (states.size() % 2 == 1)
      next.push_back(states.back());
    states = std::move(next);
  }
  return states.front();
}

ReductionState tenon::combineAll(KernelBuilder &b,
                                 ReductionEpilogueOp reduction,
                                 SmallVector<ReductionState> states) {
  Value origin = states.front().origin;
  for (ReductionState &state : MutableArrayRef(states).drop_front()) {
    Value distance = arith::SubFOp::create(b, state.origin, origin);
    state.scalars = reduction.emitMove(b, b.getLoc(), state.scalars, distance);
  }
  return combineTree(b, reduction, std::move(states));
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

/// Of a column of the thread: two of each block of 8.
ReductionState FragmentStates::reduceRows(ValueRange elements, int64_t column,
                                          Value origin) {
  SmallVector<ReductionState> rows;
  for (int64_t i = 0; i != rowBlocks * kRows; ++i) {
    int64_t block = i / kRows * frame.geometry.warpN() / 8 + column / kLanes;
    Value element =
        elements[(block * kRows + i % kRows) * kLanes + column % kLanes];
    element = arith::SubFOp::create(b, element, origin);
    Value count = b.f32(1);
    if (!inRange.empty()) {
      element = b.select(inRange[i], element, b.f32(0));
      count = b.select(inRange[i], count, b.f32(0));
    }
    rows.push_back({count, reduction.emitChunk(b, b.getLoc(), element), {}});
  }
  return combineTree(b, reduction, rows);
}

/// Keeps the upper half of the columns in lanes that have the step's bit, the
/// lower half in the others.
SmallVector<ReductionState>
FragmentStates::exchange(ArrayRef<ReductionState> columns, unsigned step) {
  Value isUpper = b.less(b.i32(0), b.bitAnd(frame.lane, kRowBits[step]));
  size_t half = columns.size() / 2;
  SmallVector<ReductionState> result;
  for (size_t i = 0; i != half; ++i) {
    SmallVector<Value> kept, other;
    for (auto [lower, upper] :
         llvm::zip_equal(columns[i].scalars, columns[half + i].scalars)) {
      kept.push_back(b.select(isUpper, upper, lower));
      other.push_back(
          frame.shuffleXor(b.select(isUpper, lower, upper), kRowBits[step]));
    }
    result.push_back({counts[step + 1],
                      reduction.emitCombine(b, b.getLoc(), counts[step], kept,
                                            received[step], other),
                      {}});
  }
  return result;
}

SmallVector<Value> FragmentStates::reduce(ValueRange elements, int64_t group) {
  constexpr int64_t each = kColumns / 4;
  Value inBlock = frame.getLanePair();
  SmallVector<ReductionState> columns;
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
  return columns.front().scalars;
}

Value FragmentStates::getColumn() {
  // Bits 4 and 3 have chosen the block of 8 columns, bit 2 one of its two.
  Value block = b.shiftLeft(b.shiftRight(frame.lane, 3), 3);
  Value pair = frame.getLanePair();
  return b.add(b.add(block, pair), b.bitAnd(b.shiftRight(frame.lane, 2), 1));
}
