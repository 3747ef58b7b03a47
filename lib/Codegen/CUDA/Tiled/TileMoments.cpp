//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Moments of the rows of a thread, of its warp, of all warps.
//
//===----------------------------------------------------------------------===//

#include "TileMoments.h"

#include "tenon/Schedule/MmaSync/MmaSyncSchedule.h"

#include "Codegen/CUDA/Emit/SplitSum.h"
#include "StoreLanes.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::tenon;

/// What a warp stages of a set and a column: origin, mean and M2.
static constexpr unsigned kScalars = 3;
/// Sets for which its staging memory, 8 rows of a pass, has room.
static constexpr unsigned kStagedSets = 2;
static_assert(kScalars * kStagedSets <= TileGeometry::kPassRows);

TileMoments::TileMoments(TiledFrame &frame, MomentsOp op, Value output,
                         const WorkItem &item, unsigned group,
                         unsigned numSteps)
    : frame(frame), b(frame.b), op(op), output(output), item(item),
      group(group), numSteps(numSteps) {
  const TileGeometry &geometry = frame.geometry;
  rowsOfWarp = geometry.sharesInstructions() ? 16 : geometry.warpM();
  warps = op.getRows() / rowsOfWarp;
  warpOfSet = b.rem(frame.tileWarp, warps);
  states.resize(llvm::divideCeil(numSteps, getStepsPerSet()));
  origins.resize(states.size());
}

unsigned TileMoments::getStepsPerSet() {
  return rowsOfWarp / frame.geometry.rowsPerStep();
}

//===----------------------------------------------------------------------===//
// A thread's rows
//===----------------------------------------------------------------------===//

/// What the lane with the same columns of the warp's first row has.
Value TileMoments::broadcastFirstRow(Value value) {
  Value lane = b.rem(frame.lane, frame.geometry.threadsPerRow());
  if (frame.geometry.isFma())
    lane = frame.swapLaneBits(lane);
  return b.shuffleFrom(value, lane);
}

/// What counts of a row, for sums.
void TileMoments::addToSums(unsigned step, ArrayRef<Value> elements,
                            Value isInRange) {
  SmallVector<State> &lanes = states[step / getStepsPerSet()];
  if (lanes.empty())
    lanes.assign(elements.size(), State{b.f32(0), Value()});
  for (auto [state, element] : llvm::zip(lanes, elements)) {
    Value value = isInRange ? b.select(isInRange, element, b.f32(0)) : element;
    state.mean = arith::AddFOp::create(b, state.mean, value);
  }
}

/// Welford's rule, which is Chan's for a set of one row.
void TileMoments::add(unsigned step, ArrayRef<Value> elements,
                      Value isInRange) {
  if (op.getSums())
    return addToSums(step, elements, isInRange);
  unsigned number = step % getStepsPerSet();
  SmallVector<State> &lanes = states[step / getStepsPerSet()];
  SmallVector<Value> &start = origins[step / getStepsPerSet()];
  if (number == 0) {
    lanes.assign(elements.size(), State{b.f32(0), b.f32(0)});
    for (Value element : elements)
      start.push_back(broadcastFirstRow(
          isInRange ? b.select(isInRange, element, b.f32(0)) : element));
  }
  Value share = b.f32(1.0f / (number + 1));
  for (auto [state, element, origin] : llvm::zip(lanes, elements, start)) {
    // A row beyond M is as far from the mean as changes nothing.
    Value value = arith::SubFOp::create(b, element, origin);
    if (isInRange)
      value = b.select(isInRange, value, state.mean);
    if (number == 0) {
      state.mean = value;
      continue;
    }
    Value distance = arith::SubFOp::create(b, value, state.mean);
    state.mean = LLVM::FMAOp::create(b, distance, share, state.mean);
    Value rest = arith::SubFOp::create(b, value, state.mean);
    state.m2 = LLVM::FMAOp::create(b, distance, rest, state.m2);
  }
}

//===----------------------------------------------------------------------===//
// Counts
//===----------------------------------------------------------------------===//

/// The first row of a set.
Value TileMoments::getFirstRow(unsigned set) {
  Value warpRow = b.sub(frame.warpRow, b.mul(warpOfSet, rowsOfWarp));
  return b.add(b.add(item.row, warpRow), set * frame.geometry.rowBlockStride());
}

/// How many of the `most` rows from `first` on count. i32.
Value TileMoments::getCount(Value first, unsigned most) {
  if (!frame.geometry.hasRaggedRows())
    return b.i32(most);
  return b.minSigned(b.maxSigned(b.sub(frame.m, first), b.i32(0)), b.i32(most));
}

/// How many rows the thread has added that count. f32.
Value TileMoments::getCountOfThread(unsigned set) {
  const TileGeometry &geometry = frame.geometry;
  Value first = b.add(b.add(getFirstRow(set), b.mul(warpOfSet, rowsOfWarp)),
                      b.div(frame.lane, geometry.threadsPerRow()));
  unsigned steps =
      std::min(getStepsPerSet(), numSteps - set * getStepsPerSet());
  Value rows = getCount(first, steps * geometry.rowsPerStep());
  return arith::UIToFPOp::create(b, b.getF32Type(),
                                 b.ceilDiv(rows, geometry.rowsPerStep()));
}

//===----------------------------------------------------------------------===//
// Sets of rows
//===----------------------------------------------------------------------===//

/// Chan's rule for `states` of `count` rows and `others` of the rows after
/// them. None of the others may count.
void TileMoments::combine(MutableArrayRef<State> states, Value count,
                          ArrayRef<State> others, Value otherCount) {
  if (op.getSums()) {
    for (auto [state, other] : llvm::zip(states, others))
      state.mean = arith::AddFOp::create(b, state.mean, other.mean);
    return;
  }
  Value total = arith::MaximumFOp::create(
      b, arith::AddFOp::create(b, count, otherCount), b.f32(1));
  Value share = arith::DivFOp::create(b, otherCount, total);
  for (auto [state, other] : llvm::zip(states, others)) {
    Value distance = arith::SubFOp::create(b, other.mean, state.mean);
    Value step = arith::MulFOp::create(b, distance, share);
    state.mean = arith::AddFOp::create(b, state.mean, step);
    state.m2 =
        LLVM::FMAOp::create(b, arith::MulFOp::create(b, distance, step), count,
                            arith::AddFOp::create(b, state.m2, other.m2));
  }
}

/// Afterwards the lanes of the first row have moments of all of the warp's.
/// They are the ones with the first rows each time, so that theirs are never
/// the set without any that counts.
void TileMoments::combineLanes(unsigned set) {
  const TileGeometry &geometry = frame.geometry;
  Value count = getCountOfThread(set);
  for (unsigned mask = geometry.threadsPerRow(); mask != 32; mask *= 2) {
    SmallVector<State> others;
    for (const State &state : states[set])
      others.push_back({frame.shuffleXor(state.mean, mask),
                        state.m2 ? frame.shuffleXor(state.m2, mask) : Value()});
    Value otherCount =
        geometry.hasRaggedRows() ? frame.shuffleXor(count, mask) : count;
    combine(states[set], count, others, otherCount);
    count = arith::AddFOp::create(b, count, otherCount);
  }
}

/// Where the staging memory of one of the set's warps has a scalar of a column.
Value TileMoments::getPlace(Value warp, unsigned set, unsigned scalar,
                            Value column) {
  int64_t columns = frame.geometry.passColumns();
  Value staging = b.mul(b.add(b.sub(frame.tileWarp, warpOfSet), warp),
                        kStagingBytesPerWarp);
  Value memory = b.offset(frame.shared, frame.geometry.epilogueOffset());
  unsigned row = set % kStagedSets * kScalars + scalar;
  Value place = b.shiftLeft(b.add(column, row * columns), 2);
  return b.offset(b.offset(memory, staging), place);
}

/// Puts the moments of the warp's rows into its staging memory.
void TileMoments::stage(unsigned set) {
  const TileGeometry &geometry = frame.geometry;
  Value first = b.mul(frame.lane, geometry.lanes);
  frame.emitIf(b.less(frame.lane, geometry.threadsPerRow()), [&] {
    for (auto [lane, state] : llvm::enumerate(states[set])) {
      Value column = b.add(first, lane);
      SmallVector<Value, kScalars> scalars{state.mean};
      if (!op.getSums())
        scalars = {origins[set][lane], state.mean, state.m2};
      for (auto [index, scalar] : llvm::enumerate(scalars))
        LLVM::StoreOp::create(b, scalar,
                              getPlace(warpOfSet, set, index, column),
                              /*alignment=*/4);
    }
  });
}

/// A column's moments of all of the set's rows, as they are stored.
SmallVector<Value> TileMoments::combineWarps(unsigned set, Value column) {
  auto toFloat = [&](Value count) {
    return arith::UIToFPOp::create(b, b.getF32Type(), count);
  };
  auto load = [&](unsigned warp, unsigned scalar) -> Value {
    Value place = getPlace(b.i32(warp), set, scalar, column);
    return LLVM::LoadOp::create(b, b.getF32Type(), place, /*alignment=*/4);
  };
  if (op.getSums()) {
    Value sum = load(0, 0);
    for (unsigned warp = 1; warp < warps; ++warp)
      sum = arith::AddFOp::create(b, sum, load(warp, 0));
    return {sum};
  }
  Value first = getFirstRow(set), origin = load(0, 0);
  State state{load(0, 1), load(0, 2)};
  for (unsigned warp = 1; warp < warps; ++warp) {
    unsigned before = warp * rowsOfWarp;
    Value count = toFloat(getCount(first, before));
    Value otherCount = toFloat(getCount(b.add(first, before), rowsOfWarp));
    Value distance = arith::SubFOp::create(b, load(warp, 0), origin);
    Value mean = arith::AddFOp::create(b, distance, load(warp, 1));
    combine(state, count, State{mean, load(warp, 2)}, otherCount);
  }
  auto [mean, rest] = emitSplitSum(b, origin, state.mean);
  SmallVector<Value> stored{mean, state.m2, rest};
  stored.resize(op.getNumScalars());
  return stored;
}

/// The thread has nothing to store if there is no such column.
void TileMoments::store(unsigned set, Value column) {
  const TileGeometry &geometry = frame.geometry;
  Value last = b.i32(geometry.passColumns() - 1);
  SmallVector<Value> scalars = combineWarps(set, b.min(column, last));
  Value first = getFirstRow(set);
  Value ofMatrix = b.add(b.add(item.column, frame.warpColumn),
                         b.add(column, group * geometry.passColumns()));
  // The last group may be narrower than the others.
  int64_t width = std::min(geometry.passColumns(),
                           geometry.warpN() - group * geometry.passColumns());
  Value isStored = b.less(column, width);
  if (geometry.hasRaggedColumns())
    isStored = b.both(isStored, b.less(ofMatrix, geometry.n));
  if (geometry.hasRaggedRows())
    isStored = b.both(isStored, b.less(first, frame.m));
  Value row = b.mul(b.toI64(b.div(first, op.getRows())),
                    int64_t(scalars.size()) * geometry.n);
  Value place = b.add(row, b.toI64(ofMatrix));
  for (auto [index, scalar] : llvm::enumerate(scalars))
    emitStoreLanes(b, output, b.add(place, index * geometry.n), b.getF32Type(),
                   scalar, isStored);
}

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

/// Of the warps that have rows of a set.
void TileMoments::synchronize() {
  if (warps == 1)
    frame.syncWarp();
  else if (frame.geometry.sharesInstructions())
    frame.warpgroupBarrier();
  else
    frame.barrier();
}

void TileMoments::finish() {
  frame.syncWarp(); // all lanes have loaded their rows from staging memory
  for (unsigned first = 0; first < getNumSets(); first += kStagedSets)
    finishSets(first, std::min(first + kStagedSets, getNumSets()));
}

void TileMoments::finishSets(unsigned begin, unsigned end) {
  for (unsigned set = begin; set != end; ++set) {
    combineLanes(set);
    stage(set);
  }
  synchronize();
  int64_t threads = 32 * warps;
  Value thread = b.add(b.mul(warpOfSet, 32), frame.lane);
  for (unsigned set = begin; set != end; ++set)
    for (int64_t first = 0; first < frame.geometry.passColumns();
         first += threads)
      store(set, b.add(thread, first));
  synchronize();
}
