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

#include "Codegen/CUDA/Tiled/TileEpilogue.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace mlir::tenon;

DeferredTurns::DeferredTurns(TiledFrame &frame, TiledLinearOp op,
                             WorkPartition &partition,
                             DeferredEpilogue &epilogue, SubtileCopies &copies)
    : frame(frame), b(frame.b), op(op), partition(partition),
      epilogue(epilogue), copies(copies), turn(frame, partition) {}

/// In how many groups a stage's products are that no step is beside.
int64_t DeferredTurns::getGroups() { return epilogue.isLoop() ? 4 : 2; }

/// Of those between two steps. Kernels that hold 16 bits take longer if these
/// are a loop.
int64_t DeferredTurns::getGroupsOfSpread() {
  return epilogue.getHeldTypes().front().isF32() ? getGroups() : 1;
}

/// Of those with a step: a loop takes ptxas less time, but kernels more, except
/// those with results of f32 whose steps are no loop.
int64_t DeferredTurns::getGroupsBesideStep() {
  auto isF32 = [](Value output) {
    return cast<MemRefType>(output.getType()).getElementType().isF32();
  };
  return !epilogue.isLoop() && llvm::all_of(op.getOutputs(), isF32) ? 2 : 1;
}

/// The products of a stage, with a step beside them, and of the next, if steps
/// are spread.
SmallVector<Value> DeferredTurns::advance(Consumer &consumer, ValueRange last,
                                          llvm::function_ref<void()> emitStep) {
  auto state = Consumer::State::unpack(last);
  auto emitBeside = [&] {
    if (epilogue.isLoop())
      consumer.waitForNext(state);
    emitStep();
  };
  Consumer::State next =
      consumer.advance(state, getGroupsBesideStep(), emitBeside);
  if (epilogue.isSpread())
    next = consumer.advance(next, getGroupsOfSpread());
  return next.pack();
}

/// The products of the turn at hand, beside which the tile before is finished,
/// if there is one. Until then its operands have the buffers.
SmallVector<Value> DeferredTurns::start(ValueRange held) {
  frame.computePlace();
  WorkItem item = turn.getItem();
  // A ring that is known to begin anew with each turn costs a register.
  Value passed = b.readAnew(b.mul(turn.getNumber(), frame.geometry.kTiles()));
  Consumer consumer(frame);
  Consumer::State state =
      consumer.begin(passed, epilogue.isLoop() ? getGroups() : 1);
  if (frame.geometry.isResident()) // loads [M, N] operands later
    emitPrefetch(frame, op, item);
  epilogue.prefetch(item);
  if (held.empty()) {
    copies.askForOperands(item);
    return consumer.advanceAll(state, b.i32(1), item.kCount, getGroups())
        .pack();
  }
  int64_t stages = 1 + epilogue.getStagesOfSteps();
  if (epilogue.isLate())
    state = consumer.advanceAll(state, b.i32(1), b.sub(item.kCount, stages),
                                getGroups());
  state = consumer.advance(state, getGroups(), [&] { prepareHeld(); });
  state = Consumer::State::unpack(
      emitSteps(held, state.pack(), [&](ValueRange last, auto emitStep) {
        return advance(consumer, last, emitStep);
      }));
  frame.computePlace();
  epilogue.endHeld();
  copies.askForOperands(turn.getItem());
  if (epilogue.isLate())
    return state.pack();
  // Where M is found out at run time there are no registers for the few last
  // stages if LLVM knows how many they are, and unrolls them.
  bool isDynamic = ShapedType::isDynamic(frame.geometry.m);
  Value count = isDynamic ? b.readAnew(item.kCount) : item.kCount;
  return consumer.advanceAll(state, b.i32(1 + stages), count, getGroups())
      .pack();
}

/// Ends the turn at hand but for what it gives, which is held, and goes to the
/// next.
SmallVector<Value> DeferredTurns::hold(ValueRange started) {
  frame.computePlace();
  epilogue.prepareTile(turn.getItem());
  SmallVector<Value> accumulators =
      Consumer(frame).complete(Consumer::State::unpack(started));
  frame.computePlace();
  SmallVector<Value> held =
      epilogue.hold(turn.getItem(), turn.getNumber(), accumulators);
  frame.computePlace();
  turn.advance(/*step=*/1);
  return held;
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
  prepareHeld();
  emitLastSteps(loop.getResults());
  frame.computePlace();
  epilogue.endHeld();
}

void DeferredTurns::emit() {
  frame.computePlace();
  turn.store(b.i32(0));
  copies.start();
  frame.emitIf(turn.exists(), [&] { emitTurns(); });
}

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
