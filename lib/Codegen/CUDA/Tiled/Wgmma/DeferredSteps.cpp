//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits the steps that finish what is held of the tile before.
//
//===----------------------------------------------------------------------===//

#include "DeferredTurns.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace mlir::tenon;

/// The tile of which a part is held, that of the turn before the one at hand.
WorkItem DeferredTurns::getHeldItem() {
  frame.computePlace();
  return partition.getItem(b.sub(turn.getNumber(), 1));
}

/// What its steps need first.
void DeferredTurns::prepareHeld() { epilogue.prepareHeld(getHeldItem()); }

/// A step of the tile before the turn at hand.
void DeferredTurns::emitStep(DeferredStep step, ValueRange loaded,
                             ValueRange held) {
  frame.computePlace();
  Value number = b.sub(turn.getNumber(), 1);
  epilogue.emitStep(partition.getItem(number), number, step, loaded, held);
}

/// What the steps of the loop's body read that begins with step `first`.
SmallVector<Value> DeferredTurns::loadBody(const WorkItem &item, Value first,
                                           int64_t steps) {
  frame.computePlace();
  SmallVector<Value> loaded;
  for (int64_t i = 0; i != steps; ++i)
    llvm::append_range(loaded, epilogue.loadStep(item, {first, i}));
  return loaded;
}

/// Part `number` of what is held, `count` values, by a jump to where they are
/// copied; the last part if there is none such. It is not the first. To move
/// all that is left to the front would take as long as a step does, and a body
/// of several parts that makes up for it is long to compile.
SmallVector<Value> DeferredTurns::takePart(ValueRange held, Value number,
                                           size_t count) {
  size_t last = held.size() / count - 1;
  SmallVector<int64_t> cases;
  for (size_t i = 1; i < last; ++i)
    cases.push_back(i);
  Value index = arith::IndexCastOp::create(b, b.getIndexType(), number);
  auto jump = scf::IndexSwitchOp::create(b, held.take_front(count).getTypes(),
                                         index, cases, cases.size());
  OpBuilder::InsertionGuard guard(b);
  auto yield = [&](Region &region, size_t part) {
    b.createBlock(&region);
    scf::YieldOp::create(b, held.slice(part * count, count));
  };
  yield(jump.getDefaultRegion(), last);
  for (auto [part, region] : llvm::zip(cases, jump.getCaseRegions()))
    yield(region, part);
  return jump.getResults();
}

/// Step `number` of the `steps` of a loop's body that begins with step `first`,
/// with its share of what these read and of what is held of them.
void DeferredTurns::emitStepOfBody(Value first, int64_t number, int64_t steps,
                                   ValueRange loaded, ValueRange part) {
  size_t loadedOfStep = loaded.size() / steps, heldOfStep = part.size() / steps;
  emitStep({first, number}, loaded.slice(number * loadedOfStep, loadedOfStep),
           part.slice(number * heldOfStep, heldOfStep));
}

/// The first step of the body after `body`, or of the last one.
static Value getNextStep(KernelBuilder &b, Value body, int64_t bodies,
                         int64_t steps) {
  return b.mul(b.min(b.add(body, 1), b.i32(bodies - 1)), steps);
}

/// All steps beside products, as a loop. What a body needs is loaded, and taken
/// of what is held, when the one before is done with its registers.
SmallVector<Value> DeferredTurns::emitLoop(ValueRange held, ValueRange initial,
                                           EmitWith emitWith) {
  int64_t steps = epilogue.getStepsOfBody(/*besideProducts=*/true);
  int64_t bodies = epilogue.getNumSteps() / steps;
  size_t count = held.size() / bodies;
  WorkItem item = getHeldItem();
  SmallVector<Value> loaded = loadBody(item, b.i32(0), steps);
  SmallVector<Value> first(initial);
  llvm::append_range(first, loaded);
  llvm::append_range(first, held.take_front(count));
  auto loop = scf::ForOp::create(b, b.i32(0), b.i32(bodies), b.i32(1), first);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value body = loop.getInductionVar();
  ValueRange values = loop.getRegionIterArgs();
  SmallVector<Value> next(values.take_front(initial.size()));
  for (int64_t i = 0; i != steps; ++i)
    next = emitWith(next, [&] {
      emitStepOfBody(b.mul(body, steps), i, steps,
                     values.slice(initial.size(), loaded.size()),
                     values.take_back(count));
    });
  llvm::append_range(
      next, loadBody(item, getNextStep(b, body, bodies, steps), steps));
  llvm::append_range(next, takePart(held, b.add(body, 1), count));
  scf::YieldOp::create(b, next);
  return SmallVector<Value>(loop.getResults().take_front(initial.size()));
}

/// All steps after the last turn, as a loop. All that is left moves to the
/// front: there are registers for it, and a jump to code that runs once would
/// wait for it. Nothing hides waits for loads here, so those for the next body
/// come half way.
void DeferredTurns::emitLastLoop(ValueRange held) {
  int64_t steps = epilogue.getStepsOfBody(/*besideProducts=*/false);
  int64_t bodies = epilogue.getNumSteps() / steps;
  size_t count = held.size() / bodies;
  WorkItem item = getHeldItem();
  SmallVector<Value> first = loadBody(item, b.i32(0), steps);
  llvm::append_range(first, held);
  auto loop = scf::ForOp::create(b, b.i32(0), b.i32(bodies), b.i32(1), first);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value body = loop.getInductionVar();
  ValueRange loaded = loop.getRegionIterArgs().drop_back(held.size());
  ValueRange left = loop.getRegionIterArgs().take_back(held.size());
  SmallVector<Value> next;
  for (int64_t i = 0; i != steps; ++i) {
    if (i == steps / 2)
      next = loadBody(item, getNextStep(b, body, bodies, steps), steps);
    emitStepOfBody(b.mul(body, steps), i, steps, loaded,
                   left.take_front(count));
  }
  llvm::append_range(next, left.drop_front(count));
  next.append(count, LLVM::UndefOp::create(b, held.front().getType()));
  scf::YieldOp::create(b, next);
}

/// All steps of the tile before the turn at hand, beside products.
SmallVector<Value> DeferredTurns::emitSteps(ValueRange held, ValueRange initial,
                                            EmitWith emitWith) {
  if (epilogue.isLoop())
    return emitLoop(held, initial, emitWith);
  SmallVector<Value> last(initial);
  for (int64_t step = 0; step != epilogue.getNumSteps(); ++step)
    last = emitWith(last, [&] { emitStep({Value(), step}, {}, held); });
  return last;
}

/// All steps of the last tile.
void DeferredTurns::emitLastSteps(ValueRange held) {
  if (epilogue.isLoop())
    return emitLastLoop(held);
  for (int64_t step = 0; step != epilogue.getNumSteps(); ++step)
    emitStep({Value(), step}, {}, held);
}
