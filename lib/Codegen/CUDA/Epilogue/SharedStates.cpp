//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Combines states of a reduction within a block, in shared memory.
//
//===----------------------------------------------------------------------===//

#include "SharedStates.h"

using namespace mlir;
using namespace mlir::tenon;

Type tenon::getStateType(ReductionEpilogueOp reduction) {
  return getComputeType(
      getElementTypeOrSelf(reduction.getReducedInput().getType()));
}

bool tenon::hasOrigin(ReductionEpilogueOp reduction) {
  return !isa<BatchSumOp>(reduction);
}

unsigned tenon::getStoredSize(ReductionEpilogueOp reduction) {
  Type element = getElementTypeOrSelf(reduction.getReducedInput().getType());
  bool hasRest = element.isF32() && EpiloguePlan::getMoments(reduction) &&
                 hasOrigin(reduction);
  return reduction.getStateSize() + (hasRest ? 1 : 0);
}

SmallVector<Value> tenon::getLaneState(ArrayRef<Value> states, unsigned lane,
                                       unsigned width) {
  SmallVector<Value> state;
  for (unsigned index = lane; index < states.size(); index += width)
    state.push_back(states[index]);
  return state;
}

SmallVector<Value> tenon::combineStates(KernelFrame &frame,
                                        ReductionEpilogueOp reduction,
                                        Value lhsCount, ArrayRef<Value> lhs,
                                        Value rhsCount, ArrayRef<Value> rhs,
                                        unsigned width) {
  unsigned size = reduction.getStateSize();
  SmallVector<Value> combined(size * width);
  for (unsigned lane = 0; lane != width; ++lane) {
    SmallVector<Value> sum = reduction.emitCombine(
        frame.b, frame.b.getLoc(), lhsCount, getLaneState(lhs, lane, width),
        rhsCount, getLaneState(rhs, lane, width));
    for (unsigned scalar = 0; scalar != size; ++scalar)
      combined[scalar * width + lane] = sum[scalar];
  }
  return combined;
}

// Counts are the same for all columns. Each level of the tree has its own, so
// that no thread overwrites a count that another still reads: `parts` of them
// at first, then half as many, and so on.
SharedStates::SharedStates(KernelFrame &frame, ReductionEpilogueOp reduction,
                           Type type, unsigned parts, unsigned columns)
    : frame(frame), b(frame.b), reduction(reduction), type(type), parts(parts),
      columns(columns),
      buffer(frame.allocateShared(
          type, int64_t(parts) * reduction.getStateSize() * columns)),
      countBuffer(frame.allocateShared(type, int64_t(2) * parts)) {}

Value SharedStates::offset(Value part, unsigned scalar, Value column) {
  Value row =
      b.add(b.mul(part, b.i32(reduction.getStateSize())), b.i32(scalar));
  return b.add(b.mul(row, b.i32(columns)), column);
}

void SharedStates::store(Value part, Value column, unsigned width, Value count,
                         ArrayRef<Value> states) {
  for (unsigned scalar = 0; scalar != reduction.getStateSize(); ++scalar)
    storeLanes(b, buffer, offset(part, scalar, column), type,
               states.slice(scalar * width, width));
  storeLanes(b, countBuffer, part, type, count);
}

SmallVector<Value> SharedStates::load(Value part, Value column,
                                      unsigned width) {
  SmallVector<Value> states;
  for (unsigned scalar = 0; scalar != reduction.getStateSize(); ++scalar)
    llvm::append_range(
        states,
        loadLanes(b, buffer, offset(part, scalar, column), type, width));
  return states;
}

Value SharedStates::count(Value part, unsigned counts) {
  return loadLanes(b, countBuffer, b.add(part, b.i32(counts)), type, 1)[0];
}

void SharedStates::combinePair(Value part, unsigned stride, unsigned counts,
                               Value column, unsigned width) {
  Value other = b.add(part, b.i32(stride));
  Value lhsCount = count(part, counts), rhsCount = count(other, counts);
  SmallVector<Value> sum =
      combineStates(frame, reduction, lhsCount, load(part, column, width),
                    rhsCount, load(other, column, width), width);
  for (unsigned scalar = 0; scalar != reduction.getStateSize(); ++scalar)
    storeLanes(b, buffer, offset(part, scalar, column), type,
               ArrayRef(sum).slice(scalar * width, width));
  Value total = arith::AddFOp::create(b, lhsCount, rhsCount);
  storeLanes(b, countBuffer, b.add(part, b.i32(counts + 2 * stride)), type,
             total);
}

void SharedStates::combine(Value part, Value column, unsigned width) {
  unsigned counts = 0;
  for (unsigned stride = parts / 2; stride != 0; stride /= 2) {
    frame.barrier();
    frame.emitIf(b.less(part, b.i32(stride)),
                 [&] { combinePair(part, stride, counts, column, width); });
    counts += 2 * stride;
  }
}

void tenon::storeGroupState(
    KernelFrame &frame, ReductionEpilogueOp reduction, ArrayRef<Value> reduced,
    llvm::function_ref<SmallVector<Value>(ArrayRef<Value>)> finish) {
  KernelBuilder &b = frame.b;
  const KernelGeometry &geometry = frame.geometry;
  Type type = getStateType(reduction);
  unsigned lanes = geometry.lanes, size = getStoredSize(reduction);
  SharedStates shared(frame, reduction, type, geometry.threadsY,
                      geometry.tileColumns());
  Value local = b.mul(frame.threadX, b.i32(lanes));
  shared.store(frame.threadY, local, lanes, reduced[0], reduced.drop_front());
  shared.combine(frame.threadY, local, lanes);
  Value stores = b.both(b.equal(frame.threadY, 0), frame.columnInRange);
  frame.emitIf(stores, [&] {
    SmallVector<Value> states =
        finish(shared.load(frame.threadY, local, lanes));
    for (unsigned scalar = 0; scalar != size; ++scalar) {
      Value row = b.add(b.mul(frame.group, b.i64(size)), b.i64(scalar));
      Value offset = b.add(b.mul(row, b.i64(geometry.n)), frame.column);
      storeLanes(b, frame.state, offset, type,
                 ArrayRef(states).slice(scalar * lanes, lanes));
    }
  });
}
