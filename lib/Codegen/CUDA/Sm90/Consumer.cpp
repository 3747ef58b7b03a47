//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits the main loop of the warps that multiply.
//
//===----------------------------------------------------------------------===//

#include "Consumer.h"

using namespace mlir;
using namespace mlir::tenon;

/// What a stage hands to the next.
struct Consumer::State {
  RingPosition next;
  Value pending; ///< the stage in flight
  SmallVector<Value> blocks;

  SmallVector<Value> pack() const {
    SmallVector<Value> values{next.stage, next.parity, pending};
    llvm::append_range(values, blocks);
    return values;
  }
  static State unpack(ValueRange values) {
    return {{values[0], values[1]},
            values[2],
            llvm::to_vector(values.drop_front(3))};
  }
};

/// The first stage: its products need no zeros to add to.
Consumer::State Consumer::begin(const RingPosition &first) {
  ring.waitFull(first);
  SmallVector<Value> blocks =
      product.multiply(product.getUndefined(), first.stage, /*replaces=*/true);
  return {ring.getNext(first), first.stage, blocks};
}

Consumer::State Consumer::advance(State state) {
  ring.waitFull(state.next);
  state.blocks =
      product.multiply(state.blocks, state.next.stage, /*replaces=*/false);
  state.blocks = product.wait(state.blocks, /*pending=*/1);
  ring.release(state.pending);
  return {ring.getNext(state.next), state.next.stage, state.blocks};
}

SmallVector<Value> Consumer::run(const WorkItem &item, Value passed,
                                 llvm::function_ref<void()> beforeEnd) {
  State first = begin(ring.getPosition(passed));
  auto loop =
      scf::ForOp::create(b, b.i32(1), item.kCount, b.i32(1), first.pack());
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    State last = advance(State::unpack(loop.getRegionIterArgs()));
    scf::YieldOp::create(b, last.pack());
  }
  State end = State::unpack(loop.getResults());
  beforeEnd();
  end.blocks = product.wait(end.blocks, /*pending=*/0);
  ring.release(end.pending);
  return product.getAccumulators(end.blocks);
}
