//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The head of a kernel that applies a reduction: combines what the groups of
// the kernel before it left, and finishes the reduction for each column.
//
//===----------------------------------------------------------------------===//

#include "ReductionEmitter.h"

using namespace mlir;
using namespace mlir::tenon;

/// How many rows group `index` of the phase before has reduced: it took tiles
/// `tiles - 1 - index`, `- groups`, ..., of which the last one may be ragged.
static Value countRows(KernelFrame &frame, Value index, Type type) {
  ImplicitLocOpBuilder &b = frame.b;
  Value tileRows = frame.i64(frame.geometry.tileRows());
  Value before = frame.sub(frame.tiles, index);
  Value own = frame.ceilDiv(before, frame.groups);
  Value rows = frame.mul(own, tileRows);
  Value missing = frame.sub(frame.mul(frame.tiles, tileRows), frame.m);
  Value ragged =
      arith::SelectOp::create(b, frame.isZero(index), missing, frame.i64(0));
  return arith::SIToFPOp::create(b, type, frame.sub(rows, ragged));
}

namespace {
/// Walks the groups' states in memory. A thread takes one column, and every
/// `parts`-th group from `part` on.
struct GroupWalk {
  KernelFrame &frame;
  ReductionEpilogueOp reduction;
  Value states; ///< [groups, state size, N]
  Type type;
  Value part, column; ///< i64
  unsigned parts;

  SmallVector<Value> load(Value index) {
    SmallVector<Value> state;
    for (unsigned scalar = 0; scalar != reduction.getStateSize(); ++scalar) {
      Value row =
          frame.add(frame.mul(index, frame.i64(reduction.getStateSize())),
                    frame.i64(scalar));
      Value offset =
          frame.add(frame.mul(row, frame.i64(frame.geometry.n)), column);
      state.push_back(loadLanes(frame.b, states, offset, type, 1)[0]);
    }
    return state;
  }

  /// The count and state of all of the thread's groups. Four are loaded
  /// together; those beyond the last are empty.
  SmallVector<Value> emit() {
    constexpr unsigned batch = 4;
    ImplicitLocOpBuilder &b = frame.b;
    SmallVector<Value> initial{frame.real(type, 0.0)};
    llvm::append_range(initial, reduction.emitInit(b, b.getLoc(), type));
    auto loop = scf::ForOp::create(
        b, part, frame.groups, frame.i64(int64_t(parts) * batch), initial,
        [&](OpBuilder &, Location, Value first, ValueRange carried) {
          OpBuilder::InsertionGuard guard(b);
          b.setInsertionPointToEnd(first.getParentBlock());
          scf::YieldOp::create(b, emitBatch(first, carried, batch));
        });
    return loop.getResults();
  }

  SmallVector<Value> emitBatch(Value first, ValueRange carried,
                               unsigned batch) {
    ImplicitLocOpBuilder &b = frame.b;
    SmallVector<Value> counts;
    SmallVector<SmallVector<Value>> loaded;
    SmallVector<Value> empty = reduction.emitInit(b, b.getLoc(), type);
    Value last = frame.sub(frame.groups, frame.i64(1));
    for (unsigned i = 0; i != batch; ++i) {
      Value index = frame.add(first, frame.i64(int64_t(i) * parts));
      Value clamped = arith::MinSIOp::create(b, index, last);
      Value exists = frame.less(index, frame.groups);
      loaded.push_back(load(clamped));
      for (auto [scalar, none] : llvm::zip(loaded.back(), empty))
        scalar = arith::SelectOp::create(b, exists, scalar, none);
      counts.push_back(arith::SelectOp::create(
          b, exists, countRows(frame, clamped, type), frame.real(type, 0.0)));
    }
    Value count = carried[0];
    SmallVector<Value> state(carried.drop_front());
    for (unsigned i = 0; i != batch; ++i) {
      state = combineStates(frame, reduction, count, state, counts[i],
                            loaded[i], /*width=*/1);
      count = arith::AddFOp::create(b, count, counts[i]);
    }
    state.insert(state.begin(), count);
    return state;
  }
};
} // namespace

/// Ends the reduction for one column; the first group writes its results, where
/// `writes` holds.
static SmallVector<Value> finish(KernelFrame &frame,
                                 ReductionEpilogueOp reduction, Value column,
                                 Value writes, ArrayRef<Value> state,
                                 ArrayRef<Value> columnOutputs) {
  ImplicitLocOpBuilder &b = frame.b;
  Type type = getStateType(reduction);
  Value count = arith::SIToFPOp::create(b, type, frame.m);
  auto loadOperands = [&] {
    ElementEmitter emitter(b, frame.pointers, column, /*lanes=*/1);
    return llvm::map_to_vector(
        reduction.getColumnOperands(), [&](Value operand) {
          return castFloat(b, emitter.get(operand, 0, 0), type);
        });
  };
  if (llvm::any_of(columnOutputs, [](Value output) { return !!output; })) {
    // Operands are loaded here and by no other group: an output may be the
    // buffer of an operand.
    frame.emitIf(frame.both(frame.isZero(frame.group), writes), [&] {
      SmallVector<Value> results = reduction.emitColumnResults(
          b, b.getLoc(), count, state, loadOperands());
      for (auto [output, result, value] : llvm::zip(
               columnOutputs, results, reduction->getResults().drop_front()))
        if (output)
          storeLanes(b, output, getOffset(b, value.getType(), Value(), column),
                     getElementTypeOrSelf(value.getType()), result);
    });
  }
  return reduction.emitFinish(b, b.getLoc(), count, state, loadOperands());
}

void tenon::emitHead(KernelFrame &frame, ReductionEpilogueOp reduction,
                     Value states, ArrayRef<Value> columnOutputs,
                     ElementEmitter &emitter) {
  ImplicitLocOpBuilder &b = frame.b;
  const KernelGeometry &geometry = frame.geometry;
  Type type = getStateType(reduction);
  unsigned columns = geometry.tileColumns();
  unsigned parts = geometry.threads() / columns;
  Value localColumn =
      arith::RemUIOp::create(b, frame.thread, frame.i32(columns));
  Value part = arith::DivUIOp::create(b, frame.thread, frame.i32(columns));
  Value own = frame.add(frame.blockColumn, frame.toI64(localColumn));
  Value inRange = frame.less(own, frame.i64(geometry.n));
  Value column = arith::MinSIOp::create(b, own, frame.i64(geometry.n - 1));

  GroupWalk walk{frame,  reduction, states, type, frame.toI64(part),
                 column, parts};
  SmallVector<Value> walked = walk.emit();
  SharedStates shared(frame, reduction, type, parts, columns);
  shared.store(part, localColumn, /*width=*/1, walked[0],
               ArrayRef(walked).drop_front());
  shared.combine(part, localColumn, /*width=*/1);

  // All parts end the reduction, with one result: a branch around divisions and
  // roots would cost more than it saves.
  frame.barrier();
  Value isFirst = frame.isZero(part);
  SmallVector<Value> finished =
      finish(frame, reduction, column, frame.both(inRange, isFirst),
             shared.load(frame.i32(0), localColumn, 1), columnOutputs);
  unsigned numFinished = finished.size();
  Value buffer = frame.allocateShared(type, int64_t(numFinished) * columns);
  frame.emitIf(isFirst, [&] {
    for (auto [index, value] : llvm::enumerate(finished))
      storeLanes(b, buffer, frame.add(localColumn, frame.i32(index * columns)),
                 type, value);
  });
  frame.barrier();

  SmallVector<SmallVector<Value>> lanes(geometry.lanes);
  Value first = frame.mul(frame.threadX, frame.i32(geometry.lanes));
  for (unsigned index = 0; index != numFinished; ++index)
    for (auto [lane, value] : llvm::enumerate(
             loadLanes(b, buffer, frame.add(first, frame.i32(index * columns)),
                       type, geometry.lanes)))
      lanes[lane].push_back(value);
  for (auto [lane, values] : llvm::enumerate(lanes))
    emitter.setFinished(reduction, lane, values);
}
