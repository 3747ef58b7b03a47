//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Walks the states that kernels before left of a column.
//
//===----------------------------------------------------------------------===//

#include "HeadStates.h"
#include "ReductionEmitter.h"

using namespace mlir;
using namespace mlir::tenon;

/// States that a thread loads together.
static constexpr int64_t kBatch = 4;

/// How many rows group `index` of the phase before has reduced: it took tiles
/// `tiles - 1 - index`, `- groups`, ..., of which the last one may be ragged.
static Value countGroupRows(KernelFrame &frame, Value index) {
  Value tileRows = frame.i64(frame.geometry.tileRows());
  Value before = frame.sub(frame.tiles, index);
  Value own = frame.ceilDiv(before, frame.groups);
  Value rows = frame.mul(own, tileRows);
  Value missing = frame.sub(frame.mul(frame.tiles, tileRows), frame.m);
  Value ragged = arith::SelectOp::create(frame.b, frame.isZero(index), missing,
                                         frame.i64(0));
  return frame.sub(rows, ragged);
}

/// How many rows a state has: the last one of moments may have fewer.
Value StateWalk::countRows(Value index) {
  ImplicitLocOpBuilder &b = frame.b;
  Value rows;
  if (states.rows)
    rows = arith::MinSIOp::create(
        b, states.rows, frame.sub(frame.m, frame.mul(index, states.rows)));
  else
    rows = countGroupRows(frame, index);
  return arith::SIToFPOp::create(b, getStateType(reduction), rows);
}

SmallVector<Value> StateWalk::load(Value index) {
  Type type = getStateType(reduction);
  Value size = frame.i64(reduction.getStateSize());
  SmallVector<Value> state;
  for (unsigned scalar = 0; scalar != reduction.getStateSize(); ++scalar) {
    Value row = frame.add(frame.mul(index, size), frame.i64(scalar));
    Value offset =
        frame.add(frame.mul(row, frame.i64(frame.geometry.n)), column);
    state.push_back(loadLanes(frame.b, states.buffer, offset, type, 1)[0]);
  }
  return state;
}

SmallVector<Value> StateWalk::emit() {
  ImplicitLocOpBuilder &b = frame.b;
  Type type = getStateType(reduction);
  SmallVector<Value> initial{frame.real(type, 0.0)};
  llvm::append_range(initial, reduction.emitInit(b, b.getLoc(), type));
  auto loop = scf::ForOp::create(
      b, first, end, frame.i64(step * kBatch), initial,
      [&](OpBuilder &, Location, Value begin, ValueRange carried) {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToEnd(begin.getParentBlock());
        scf::YieldOp::create(b, emitBatch(begin, carried));
      });
  return loop.getResults();
}

/// A batch is loaded together; states beyond the end are empty.
SmallVector<Value> StateWalk::emitBatch(Value begin, ValueRange carried) {
  ImplicitLocOpBuilder &b = frame.b;
  Type type = getStateType(reduction);
  SmallVector<Value> counts;
  SmallVector<SmallVector<Value>> loaded;
  SmallVector<Value> empty = reduction.emitInit(b, b.getLoc(), type);
  Value last = frame.sub(end, frame.i64(1));
  for (int64_t i = 0; i != kBatch; ++i) {
    Value index = frame.add(begin, frame.i64(i * step));
    Value clamped = arith::MinSIOp::create(b, index, last);
    Value exists = frame.less(index, end);
    loaded.push_back(load(clamped));
    for (auto [scalar, none] : llvm::zip(loaded.back(), empty))
      scalar = arith::SelectOp::create(b, exists, scalar, none);
    counts.push_back(arith::SelectOp::create(b, exists, countRows(clamped),
                                             frame.real(type, 0.0)));
  }
  Value count = carried[0];
  SmallVector<Value> state(carried.drop_front());
  for (int64_t i = 0; i != kBatch; ++i) {
    state = combineStates(frame, reduction, count, state, counts[i], loaded[i],
                          /*width=*/1);
    count = arith::AddFOp::create(b, count, counts[i]);
  }
  state.insert(state.begin(), count);
  return state;
}
