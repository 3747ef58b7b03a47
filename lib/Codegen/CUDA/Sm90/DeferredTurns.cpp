//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits turns that overlap.
//
//===----------------------------------------------------------------------===//

#include "DeferredTurns.h"

#include "../Tiled/TileEpilogue.h"
#include "Consumer.h"

using namespace mlir;
using namespace mlir::tenon;

DeferredTurns::DeferredTurns(TiledFrame &frame, TiledLinearOp op,
                             WorkPartition &partition,
                             DeferredEpilogue &epilogue, SubtileCopies &copies)
    : frame(frame), b(frame.b), op(op), partition(partition),
      epilogue(epilogue), copies(copies), turn(frame), passed(frame.keep()),
      heldRow(frame.keep()), heldColumn(frame.keep()) {}

/// The products of the turn at hand, beside which the tile before is finished,
/// if there is one. Until then its operands have the buffers.
SmallVector<Value> DeferredTurns::start(ValueRange held) {
  frame.computePlace();
  WorkItem item = turn.getItem();
  int64_t steps = held.empty() ? 0 : getNumSteps();
  auto afterFirst = [&] {
    emitPrefetch(frame, op, item);
    epilogue.prefetch(item);
    if (steps == 0)
      copies.askForOperands(item);
  };
  auto emitStep = [&](int64_t step) {
    finish(step, held);
    if (step + 1 == steps) {
      frame.computePlace();
      copies.askForOperands(turn.getItem());
    }
  };
  return Consumer(frame).start(item, passed.load(), afterFirst,
                               {steps, epilogue.isLate(), emitStep});
}

/// Ends the turn at hand but for what it gives, which is held, and goes to the
/// next.
SmallVector<Value> DeferredTurns::hold(ValueRange started) {
  frame.computePlace();
  epilogue.prepareTile(turn.getItem());
  turn.prepareNext(partition, /*step=*/1);
  SmallVector<Value> accumulators = Consumer(frame).finish(started);
  frame.computePlace();
  WorkItem item = turn.getItem();
  SmallVector<Value> held = epilogue.hold(item, turn.getNumber(), accumulators);
  frame.computePlace();
  item = turn.getItem();
  Value count = b.add(passed.load(), item.kCount);
  frame.syncWarp(); // all lanes have read what is stored now
  frame.emitIf(b.equal(frame.lane, 0), [&] {
    passed.store(count);
    heldRow.store(item.row);
    heldColumn.store(item.column);
  });
  turn.advance(partition, /*step=*/1);
  return held;
}

WorkItem DeferredTurns::getHeldItem() {
  WorkItem item = turn.getItem(); // K is the same for all
  item.row = heldRow.load();
  item.column = heldColumn.load();
  return item;
}

/// The tile before the turn at hand: what its steps need first, then these.
void DeferredTurns::finish(int64_t step, ValueRange held) {
  frame.computePlace();
  if (step == 0)
    return epilogue.prepareHeld(getHeldItem());
  epilogue.emitStep(getHeldItem(), b.sub(turn.getNumber(), 1), step - 1, held);
}

void DeferredTurns::emitTurns() {
  SmallVector<Value> first = start({});
  SmallVector<Type> types = epilogue.getHeldTypes();
  auto loop = scf::WhileOp::create(b, types, first);
  {
    OpBuilder::InsertionGuard guard(b);
    SmallVector<Location> locations(first.size(), b.getLoc());
    Block *ends = b.createBlock(&loop.getBefore(), {},
                                TypeRange(ValueRange(first)), locations);
    SmallVector<Value> held = hold(ends->getArguments());
    scf::ConditionOp::create(b, b.less(turn.getNumber(), partition.getCount()),
                             held);
    locations.assign(types.size(), b.getLoc());
    Block *begins = b.createBlock(&loop.getAfter(), {}, types, locations);
    scf::YieldOp::create(b, start(begins->getArguments()));
  }
  for (int64_t step = 0; step != getNumSteps(); ++step)
    finish(step, loop.getResults());
}

void DeferredTurns::emit() {
  frame.computePlace();
  frame.emitIf(b.equal(frame.lane, 0), [&] { passed.store(b.i32(0)); });
  turn.store(b.i32(0), partition.getItem(b.i32(0)));
  copies.start();
  frame.emitIf(b.less(b.i32(0), partition.getCount()), [&] { emitTurns(); });
}
