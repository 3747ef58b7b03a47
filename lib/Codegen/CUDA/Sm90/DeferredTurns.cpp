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
                             SwappedResident &resident, SubtileCopies &copies)
    : frame(frame), b(frame.b), op(op), partition(partition),
      resident(resident), copies(copies), turn(frame), passed(frame.keep()),
      heldRow(frame.keep()), heldColumn(frame.keep()) {}

WorkItem DeferredTurns::getHeldItem() {
  WorkItem item = turn.getItem(); // K is the same for all
  item.row = heldRow.load();
  item.column = heldColumn.load();
  return item;
}

/// The accumulators of the turn at hand.
SmallVector<Value>
DeferredTurns::multiply(int64_t steps,
                        llvm::function_ref<void(int64_t)> beside) {
  frame.computePlace();
  auto afterFirst = [&] {
    emitPrefetch(frame, op, turn.getItem());
    resident.prefetch(turn.getItem());
    turn.prepareNext(partition, /*step=*/1);
  };
  return Consumer(frame).run(turn.getItem(), passed.load(), afterFirst, steps,
                             beside);
}

/// Ends the turn at hand but for its epilogue.
SmallVector<Value> DeferredTurns::hold(ValueRange accumulators) {
  WorkItem item = turn.getItem();
  SmallVector<Value> held =
      resident.hold(item, turn.getNumber(), accumulators);
  frame.computePlace();
  copies.askForOperands(item);
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

/// Of the tile that is held: a step for what its columns have, and one for each
/// subtile.
void DeferredTurns::finish(int64_t step, ValueRange held) {
  frame.computePlace();
  if (step == 0)
    return resident.prepare(getHeldItem());
  resident.emitHeld(getHeldItem(), b.sub(turn.getNumber(), 1), step - 1, held);
}

void DeferredTurns::emitTurns() {
  int64_t steps = 1 + resident.getNumSubtiles();
  SmallVector<Value> first = multiply(/*steps=*/0, [](int64_t) {});
  SmallVector<Type> types = resident.getHeldTypes();
  auto loop = scf::WhileOp::create(b, types, first);
  {
    OpBuilder::InsertionGuard guard(b);
    SmallVector<Location> locations(first.size(), b.getLoc());
    Block *reduces = b.createBlock(&loop.getBefore(), {},
                                   TypeRange(ValueRange(first)), locations);
    SmallVector<Value> held = hold(reduces->getArguments());
    scf::ConditionOp::create(
        b, b.less(turn.getNumber(), partition.getCount()), held);
    locations.assign(types.size(), b.getLoc());
    Block *multiplies = b.createBlock(&loop.getAfter(), {}, types, locations);
    scf::YieldOp::create(b, multiply(steps, [&](int64_t step) {
      finish(step, multiplies->getArguments());
    }));
  }
  for (int64_t step = 0; step != steps; ++step)
    finish(step, loop.getResults());
}

void DeferredTurns::emit() {
  frame.computePlace();
  frame.emitIf(b.equal(frame.lane, 0), [&] { passed.store(b.i32(0)); });
  turn.store(b.i32(0), partition.getItem(b.i32(0)));
  copies.start();
  frame.emitIf(b.less(b.i32(0), partition.getCount()), [&] { emitTurns(); });
}
