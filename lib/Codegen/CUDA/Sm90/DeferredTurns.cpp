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
      epilogue(epilogue), copies(copies), turn(frame, partition) {}

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
  // A ring that is known to begin anew with each turn costs a register.
  Value passed = b.readAnew(b.mul(turn.getNumber(), frame.geometry.kTiles()));
  return Consumer(frame).start(item, passed, afterFirst,
                               {steps, epilogue.isLate(), emitStep});
}

/// Ends the turn at hand but for what it gives, which is held, and goes to the
/// next.
SmallVector<Value> DeferredTurns::hold(ValueRange started) {
  frame.computePlace();
  epilogue.prepareTile(turn.getItem());
  SmallVector<Value> accumulators = Consumer(frame).finish(started);
  frame.computePlace();
  SmallVector<Value> held =
      epilogue.hold(turn.getItem(), turn.getNumber(), accumulators);
  frame.computePlace();
  turn.advance(/*step=*/1);
  return held;
}

/// The tile before the turn at hand: what its steps need first, then these.
void DeferredTurns::finish(int64_t step, ValueRange held) {
  frame.computePlace();
  Value number = b.sub(turn.getNumber(), 1);
  WorkItem item = partition.getItem(number);
  if (step == 0)
    return epilogue.prepareHeld(item);
  epilogue.emitStep(item, number, step - 1, held);
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
    scf::ConditionOp::create(b, turn.exists(), held);
    locations.assign(types.size(), b.getLoc());
    Block *begins = b.createBlock(&loop.getAfter(), {}, types, locations);
    scf::YieldOp::create(b, start(begins->getArguments()));
  }
  for (int64_t step = 0; step != getNumSteps(); ++step)
    finish(step, loop.getResults());
}

void DeferredTurns::emit() {
  frame.computePlace();
  turn.store(b.i32(0));
  copies.start();
  frame.emitIf(turn.exists(), [&] { emitTurns(); });
}
