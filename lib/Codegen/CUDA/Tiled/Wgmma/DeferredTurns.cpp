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
