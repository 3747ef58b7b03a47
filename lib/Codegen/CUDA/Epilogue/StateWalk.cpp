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

#include "StateWalk.h"
#include "Codegen/CUDA/Emit/SplitSum.h"
#include "CombineMoments.h"
#include "SharedStates.h"

using namespace mlir;
using namespace mlir::tenon;

/// States that a thread loads together at most: each round waits for memory.
/// Sums are of one number each.
static constexpr int64_t kBatch = 4, kBatchOfSums = 32;

/// Of a sum whose number of states is not known.
static constexpr int64_t kUsualBatchOfSums = 16;

/// How many states there are of sums of a known M; 0 of others, and where a
/// kernel combines them before another walks them.
int64_t StateWalk::getNumStates() {
  int64_t m = cast<RankedTensorType>(reduction.getReducedInput().getType())
                  .getDimSize(0);
  if (!isa<BatchSumOp>(reduction) || ShapedType::isDynamic(m) ||
      !EpiloguePlan::getMoments(reduction) || combinesMoments(reduction))
    return 0;
  return llvm::divideCeil(m, EpiloguePlan::getMomentRows(reduction));
}

/// As many as a thread has of all states, if there may be so many.
int64_t StateWalk::getBatch() {
  if (!isa<BatchSumOp>(reduction))
    return kBatch;
  int64_t states = getNumStates();
  if (states == 0)
    return kUsualBatchOfSums;
  return std::clamp<int64_t>(llvm::divideCeil(states, parts), 1, kBatchOfSums);
}

/// Whether no batch goes beyond the last state.
bool StateWalk::areBatchesWhole() {
  int64_t states = getNumStates();
  return states != 0 && getConstantIntValue(begin) == 0 &&
         states % (parts * getBatch()) == 0;
}

/// How many rows group `index` of the phase before has reduced: it took tiles
/// `tiles - 1 - index`, `- groups`, ..., of which the last one may be ragged.
static Value countGroupRows(KernelFrame &frame, Value index) {
  KernelBuilder &b = frame.b;
  Value tileRows = b.i64(frame.geometry.tileRows());
  Value before = b.sub(frame.tiles, index);
  Value own = emitCeilDiv(b, before, frame.groups);
  Value rows = b.mul(own, tileRows);
  Value missing = b.sub(b.mul(frame.tiles, tileRows), frame.m);
  Value ragged =
      arith::SelectOp::create(b, b.equal(index, 0), missing, b.i64(0));
  return b.sub(rows, ragged);
}

/// How many rows a state has: the last one of moments may have fewer.
Value StateWalk::countRows(Value index) {
  KernelBuilder &b = frame.b;
  if (isa<BatchSumOp>(reduction)) // sums are added whatever they are of
    return b.real(getStateType(reduction), 0.0);
  Value rows;
  if (states.rows)
    rows = arith::MinSIOp::create(b, states.rows,
                                  b.sub(frame.m, b.mul(index, states.rows)));
  else
    rows = countGroupRows(frame, index);
  return arith::SIToFPOp::create(b, getStateType(reduction), rows);
}

/// Stored ones.
SmallVector<Value> StateWalk::load(Value index) {
  KernelBuilder &b = frame.b;
  Type type = getStateType(reduction);
  Value size = b.i64(getStoredSize(reduction));
  SmallVector<Value> state;
  for (unsigned scalar = 0; scalar != getStoredSize(reduction); ++scalar) {
    Value row = b.add(b.mul(index, size), b.i64(scalar));
    Value offset = b.add(b.mul(row, b.i64(frame.geometry.n)), column);
    llvm::append_range(state, loadLanes(b, states.buffer, offset, type, width));
  }
  return state;
}

/// Without amounts, where states combine as they are, nothing.
SmallVector<Value> StateWalk::move(ArrayRef<Value> states,
                                   ArrayRef<Value> amounts) {
  if (amounts.empty())
    return llvm::to_vector(states);
  SmallVector<Value> moved(states.size());
  for (unsigned lane = 0; lane != width; ++lane) {
    SmallVector<Value> state =
        reduction.emitMove(frame.b, frame.b.getLoc(),
                           getLaneState(states, lane, width), amounts[lane]);
    for (auto [scalar, value] : llvm::enumerate(state))
      moved[scalar * width + lane] = value;
  }
  return moved;
}

/// By `amounts`, and by what rounding has left of each.
SmallVector<Value> StateWalk::loadMoved(Value index, ArrayRef<Value> amounts) {
  SmallVector<Value> stored = load(index);
  ArrayRef<Value> states(stored);
  unsigned size = reduction.getStateSize() * width;
  SmallVector<Value> moved = move(states.take_front(size), amounts);
  return stored.size() == size ? moved : move(moved, states.drop_front(size));
}

SmallVector<Value> StateWalk::moveBack(ArrayRef<Value> moved) {
  if (reloadsOrigins)
    loadOrigins();
  return move(moved, origins);
}

SmallVector<Value> StateWalk::getStored(ArrayRef<Value> moved) {
  SmallVector<Value> stored = moveBack(moved);
  if (getStoredSize(reduction) != reduction.getStateSize())
    for (unsigned lane = 0; lane != width; ++lane) {
      Value distance = reduction.getOrigin(getLaneState(moved, lane, width));
      stored.push_back(emitSplitSum(frame.b, origins[lane], distance).rest);
    }
  return stored;
}

/// The same for all parts. Where there is no state, none is loaded.
void StateWalk::loadOrigins() {
  KernelBuilder &b = frame.b;
  if (!hasOrigin(reduction))
    return;
  SmallVector<Type> types(width, getStateType(reduction));
  auto branch = scf::IfOp::create(b, types, b.less(begin, end),
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  auto yield = [&](ArrayRef<Value> states) {
    SmallVector<Value> found;
    for (unsigned lane = 0; lane != width; ++lane)
      found.push_back(reduction.getOrigin(getLaneState(states, lane, width)));
    scf::YieldOp::create(b, found);
  };
  b.setInsertionPointToStart(branch.thenBlock());
  yield(load(begin));
  b.setInsertionPointToStart(branch.elseBlock());
  yield(getEmpty());
  origins = branch.getResults();
}

SmallVector<Value> StateWalk::getEmpty() {
  SmallVector<Value> states;
  for (Value scalar :
       reduction.emitInit(frame.b, frame.b.getLoc(), getStateType(reduction)))
    states.append(width, scalar);
  return states;
}

SmallVector<Value> StateWalk::emit() {
  KernelBuilder &b = frame.b;
  loadOrigins();
  SmallVector<Value> initial = getEmpty();
  initial.insert(initial.begin(), b.real(getStateType(reduction), 0.0));
  auto loop = scf::ForOp::create(
      b, b.add(begin, part), end, b.i64(parts * getBatch()), initial,
      [&](OpBuilder &, Location, Value first, ValueRange carried) {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToEnd(first.getParentBlock());
        scf::YieldOp::create(b, emitBatch(first, carried));
      });
  return loop.getResults();
}

/// A batch is loaded together; states beyond the end are empty.
SmallVector<Value> StateWalk::emitBatch(Value first, ValueRange carried) {
  KernelBuilder &b = frame.b;
  Type type = getStateType(reduction);
  SmallVector<Value> counts;
  SmallVector<SmallVector<Value>> loaded;
  SmallVector<Value> empty = getEmpty(), down;
  for (Value origin : origins)
    down.push_back(arith::NegFOp::create(b, origin));
  Value last = b.sub(end, b.i64(1));
  for (int64_t i = 0; i != getBatch(); ++i) {
    Value index = b.add(first, b.i64(i * parts));
    if (areBatchesWhole()) {
      loaded.push_back(loadMoved(index, down));
      counts.push_back(countRows(index));
      continue;
    }
    Value clamped = arith::MinSIOp::create(b, index, last);
    Value exists = b.less(index, end);
    loaded.push_back(loadMoved(clamped, down));
    for (auto [scalar, none] : llvm::zip(loaded.back(), empty))
      scalar = arith::SelectOp::create(b, exists, scalar, none);
    counts.push_back(arith::SelectOp::create(b, exists, countRows(clamped),
                                             b.real(type, 0.0)));
  }
  Value count = carried[0];
  SmallVector<Value> state(carried.drop_front());
  for (int64_t i = 0; i != getBatch(); ++i) {
    state = combineStates(frame, reduction, count, state, counts[i], loaded[i],
                          width);
    count = arith::AddFOp::create(b, count, counts[i]);
  }
  state.insert(state.begin(), count);
  return state;
}
