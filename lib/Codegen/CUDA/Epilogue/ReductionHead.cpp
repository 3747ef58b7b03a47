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

#include "ReductionHead.h"
#include "CombineMoments.h"
#include "SharedStates.h"
#include "StateWalk.h"

using namespace mlir;
using namespace mlir::tenon;

/// Ends the reduction for one column; its results are written where `writes`
/// holds.
static SmallVector<Value> finish(KernelFrame &frame,
                                 ReductionEpilogueOp reduction, Value column,
                                 Value writes, ArrayRef<Value> state,
                                 ArrayRef<Value> columnOutputs) {
  KernelBuilder &b = frame.b;
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
    frame.emitIf(writes, [&] {
      SmallVector<Value> results = reduction.emitColumnResults(
          b, b.getLoc(), count, state, loadOperands());
      for (auto [output, result, value] :
           llvm::zip(columnOutputs, results, reduction.getColumnResults()))
        if (output)
          storeLanes(b, output, getOffset(b, value.getType(), Value(), column),
                     getElementTypeOrSelf(value.getType()), result);
    });
  }
  return reduction.emitFinish(b, b.getLoc(), count, state, loadOperands());
}

/// Shows all threads, through shared memory, what those of the first part
/// finished of a column each.
static void shareFinished(KernelFrame &frame, ReductionEpilogueOp reduction,
                          Value isFirst, Value localColumn,
                          ArrayRef<Value> finished, ElementEmitter &emitter) {
  KernelBuilder &b = frame.b;
  const KernelGeometry &geometry = frame.geometry;
  Type type = getStateType(reduction);
  unsigned columns = geometry.tileColumns(), numFinished = finished.size();
  Value buffer = frame.allocateShared(type, int64_t(numFinished) * columns);
  frame.emitIf(isFirst, [&] {
    for (auto [index, value] : llvm::enumerate(finished))
      storeLanes(b, buffer, b.add(localColumn, b.i32(index * columns)), type,
                 value);
  });
  frame.barrier();

  SmallVector<SmallVector<Value>> lanes(geometry.lanes);
  Value first = b.mul(frame.threadX, b.i32(geometry.lanes));
  for (unsigned index = 0; index != numFinished; ++index)
    for (auto [lane, value] : llvm::enumerate(
             loadLanes(b, buffer, b.add(first, b.i32(index * columns)), type,
                       geometry.lanes)))
      lanes[lane].push_back(value);
  for (auto [lane, values] : llvm::enumerate(lanes))
    emitter.setFinished(reduction, lane, values);
}

void tenon::emitHead(KernelFrame &frame, ReductionEpilogueOp reduction,
                     const StateBuffer &states, ArrayRef<Value> columnOutputs,
                     ElementEmitter &emitter, int64_t writer) {
  KernelBuilder &b = frame.b;
  const KernelGeometry &geometry = frame.geometry;
  Type type = getStateType(reduction);
  unsigned columns = geometry.tileColumns();
  unsigned parts = geometry.threads() / columns;
  Value localColumn = arith::RemUIOp::create(b, frame.thread, b.i32(columns));
  Value part = arith::DivUIOp::create(b, frame.thread, b.i32(columns));
  Value own = b.add(frame.blockColumn, b.toI64Signed(localColumn));
  Value inRange = b.less(own, b.i64(geometry.n));
  Value column = arith::MinSIOp::create(b, own, b.i64(geometry.n - 1));

  Value count =
      states.rows ? emitCeilDiv(b, frame.m, states.rows) : frame.groups;
  StateWalk walk{frame,  reduction,           states,
                 column, /*width=*/1,         b.i64(0),
                 count,  b.toI64Signed(part), parts};
  SmallVector<Value> walked = walk.emit();
  SharedStates shared(frame, reduction, type, parts, columns);
  shared.store(part, localColumn, /*width=*/1, walked[0],
               ArrayRef(walked).drop_front());
  shared.combine(part, localColumn, /*width=*/1);

  // All parts end the reduction, with one result: a branch around divisions and
  // roots would cost more than it saves.
  frame.barrier();
  Value isFirst = b.equal(part, 0);
  Value writes = b.both(b.equal(frame.group, writer), b.both(inRange, isFirst));
  SmallVector<Value> finished = finish(
      frame, reduction, column, writes,
      walk.moveBack(shared.load(b.i32(0), localColumn, 1)), columnOutputs);
  shareFinished(frame, reduction, isFirst, localColumn, finished, emitter);
}
