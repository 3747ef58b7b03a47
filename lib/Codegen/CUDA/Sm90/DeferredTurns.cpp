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

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include <numeric>

using namespace mlir;
using namespace mlir::tenon;

DeferredTurns::DeferredTurns(TiledFrame &frame, TiledLinearOp op,
                             WorkPartition &partition,
                             DeferredEpilogue &epilogue, SubtileCopies &copies)
    : frame(frame), b(frame.b), op(op), partition(partition),
      epilogue(epilogue), copies(copies), turn(frame, partition) {}

/// Rounds in a loop's body at most: with more of them what is held moves less
/// from register to register, and ptxas takes longer. Where two elements share
/// a register, and move together, half as many will do.
int64_t DeferredTurns::getRoundsOfBody() {
  return isa<VectorType>(epilogue.getHeldTypes().front()) ? 2 : 4;
}

/// Whether products with a step beside them are a loop of halves too. ptxas
/// takes less time so; kernels take more, except those with results of f32
/// whose steps are no loop.
bool DeferredTurns::halvesBesideSteps() {
  auto isF32 = [](Value output) {
    return cast<MemRefType>(output.getType()).getElementType().isF32();
  };
  return epilogue.getNumRounds() == 1 && llvm::all_of(op.getOutputs(), isF32);
}

/// The products of a stage, with a step beside them.
SmallVector<Value> DeferredTurns::advance(Consumer &consumer, ValueRange last,
                                          llvm::function_ref<void()> emitStep) {
  auto state = Consumer::State::unpack(last);
  auto emitBeside = [&] {
    if (epilogue.getNumRounds() != 1)
      consumer.waitForNext(state);
    emitStep();
  };
  return consumer.advance(state, halvesBesideSteps(), emitBeside).pack();
}

/// The products of the turn at hand, beside which the tile before is finished,
/// if there is one. Until then its operands have the buffers.
SmallVector<Value> DeferredTurns::start(ValueRange held) {
  frame.computePlace();
  WorkItem item = turn.getItem();
  // A ring that is known to begin anew with each turn costs a register.
  Value passed = b.readAnew(b.mul(turn.getNumber(), frame.geometry.kTiles()));
  Consumer consumer(frame);
  Consumer::State state = consumer.begin(passed);
  if (frame.geometry.isResident()) // loads [M, N] operands later
    emitPrefetch(frame, op, item);
  epilogue.prefetch(item);
  if (held.empty()) {
    copies.askForOperands(item);
    return consumer.advanceAll(state, b.i32(1), item.kCount, /*inHalves=*/true)
        .pack();
  }
  int64_t stages = 1 + epilogue.getNumRounds() * epilogue.getNumSteps();
  if (epilogue.isLate())
    state = consumer.advanceAll(state, b.i32(1), b.sub(item.kCount, stages),
                                /*inHalves=*/true);
  state = consumer.advance(state, /*inHalves=*/true, [&] { prepareHeld(); });
  // Where M is found out at run time, there are no registers for more, nor for
  // the few last stages if LLVM knows how many they are, and unrolls them.
  bool isDynamic = ShapedType::isDynamic(frame.geometry.m);
  int64_t most = isDynamic ? 1 : getRoundsOfBody();
  state = Consumer::State::unpack(
      emitRounds(held, state.pack(), most, [&](ValueRange last, auto emitStep) {
        return advance(consumer, last, emitStep);
      }));
  frame.computePlace();
  epilogue.endHeld();
  copies.askForOperands(turn.getItem());
  if (!epilogue.isLate())
    state = consumer.advanceAll(
        state, b.i32(1 + stages),
        isDynamic ? b.readAnew(item.kCount) : item.kCount, /*inHalves=*/true);
  return state.pack();
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

/// What the steps of the tile before the turn at hand need first.
void DeferredTurns::prepareHeld() {
  frame.computePlace();
  epilogue.prepareHeld(partition.getItem(b.sub(turn.getNumber(), 1)));
}

/// What rounds of the tile before the turn at hand read.
SmallVector<Value> DeferredTurns::loadRounds(Value round, int64_t count) {
  if (epilogue.getMostLoaded() == 0)
    return {};
  frame.computePlace();
  Value number = b.sub(turn.getNumber(), 1);
  return epilogue.loadRounds(partition.getItem(number), round, count);
}

/// A round of steps of the tile before the turn at hand.
SmallVector<Value> DeferredTurns::emitRound(Value round, ValueRange held,
                                            ValueRange initial,
                                            EmitWith emitWith) {
  SmallVector<Value> last(initial);
  for (int64_t step = 0; step != epilogue.getNumSteps(); ++step)
    last = emitWith(last, [&] {
      frame.computePlace();
      Value number = b.sub(turn.getNumber(), 1);
      epilogue.emitStep(partition.getItem(number), number, step, round, held);
    });
  return last;
}

/// Number `number` of the rounds in a loop's body, with what is left of what is
/// held. Beside products the next rounds' operands are loaded after the last of
/// these, when registers are free again; after the last turn, where a round is
/// shorter, before the first.
SmallVector<Value> DeferredTurns::emitRoundOfBody(Value round, int64_t number,
                                                  Loaded &loaded,
                                                  ValueRange left,
                                                  ValueRange initial,
                                                  EmitWith emitWith) {
  bool isBesideProducts = !initial.empty();
  int64_t before = number % loaded.rounds;
  auto loadNext = [&] {
    Value next = b.add(round, loaded.rounds - before);
    Value last = b.i32(epilogue.getNumRounds() - loaded.rounds);
    loaded.next = loadRounds(b.min(next, last), loaded.rounds);
  };
  if (before == 0) {
    loaded.current = loaded.next;
    if (!isBesideProducts)
      loadNext();
  }
  epilogue.beginRound(loaded.current, round, before);
  SmallVector<Value> next = emitRound(round, left, initial, emitWith);
  if (isBesideProducts && before == loaded.rounds - 1)
    loadNext();
  return next;
}

/// All rounds, `most` of them at most in the body of a loop, which moves what
/// is held to the front of its registers.
SmallVector<Value> DeferredTurns::emitRounds(ValueRange held,
                                             ValueRange initial, int64_t most,
                                             EmitWith emitWith) {
  int64_t rounds = epilogue.getNumRounds();
  if (rounds == 1)
    return emitRound(/*round=*/Value(), held, initial, emitWith);
  int64_t ofBody = std::min(most, rounds / 2); // or it were no loop
  while (rounds % ofBody != 0)
    --ofBody;
  Loaded loaded{std::gcd(ofBody, epilogue.getMostLoaded()), {}, {}};
  loaded.next = loadRounds(b.i32(0), loaded.rounds);
  SmallVector<Value> first(initial);
  llvm::append_range(first, loaded.next);
  llvm::append_range(first, held);
  auto loop =
      scf::ForOp::create(b, b.i32(0), b.i32(rounds), b.i32(ofBody), first);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  ValueRange values = loop.getRegionIterArgs();
  SmallVector<Value> next(values.take_front(initial.size()));
  ValueRange left = values.take_back(held.size());
  loaded.next =
      llvm::to_vector(values.drop_front(initial.size()).drop_back(held.size()));
  for (int64_t number = 0; number != ofBody; ++number) {
    Value round = b.add(loop.getInductionVar(), number);
    next = emitRoundOfBody(round, number, loaded, left, next, emitWith);
    left = left.drop_front(held.size() / rounds);
  }
  llvm::append_range(next, loaded.next);
  llvm::append_range(next, left);
  while (next.size() != first.size())
    next.push_back(LLVM::UndefOp::create(b, held.front().getType()));
  scf::YieldOp::create(b, next);
  return SmallVector<Value>(loop.getResults().take_front(initial.size()));
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
  emitRounds(loop.getResults(), {}, getRoundsOfBody(),
             [](ValueRange, auto emitStep) {
               emitStep();
               return SmallVector<Value>();
             });
  frame.computePlace();
  epilogue.endHeld();
}

void DeferredTurns::emit() {
  frame.computePlace();
  turn.store(b.i32(0));
  copies.start();
  frame.emitIf(turn.exists(), [&] { emitTurns(); });
}
