//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Puts a kernel of mma_sync together: turns, main loop, epilogue.
//
//===----------------------------------------------------------------------===//

#include "MmaSyncTurns.h"

#include "Codegen/CUDA/Tiled/RangeGuard.h"
#include "Codegen/CUDA/Tiled/TileEpilogue.h"
#include "FmaLoop.h"
#include "MainLoop.h"

using namespace mlir;
using namespace mlir::tenon;

SmallVector<Value> MmaSyncTurns::multiply() {
  if (frame.geometry.isFma())
    return FmaLoop(frame).run(turn.getItem());
  return MainLoop(frame).run(turn.getItem());
}

void MmaSyncTurns::emit() {
  WorkItem first = partition.getItem(b.i32(0));
  TileCopy(frame).start(first, partition.hasTurn(b.i32(0)));
  turn.store(b.i32(0));
  emitTurns(frame, turn, [&] { emitTurn(); });
  endExchanges();
  if (!resident)
    return;
  frame.computePlace();
  resident->clear(partition.getCount());
}

/// Of rows: when all warps have read what others have published.
void MmaSyncTurns::endExchanges() {
  if (!frame.geometry.exchangesRows())
    return;
  frame.barrier();
  frame.computePlace();
  frame.emitIf(b.equal(frame.warp, 0),
               [&] { rows->clear(partition.getCount()); });
}

/// The number of a turn among those in which tiles exchange what they have.
Value MmaSyncTurns::getExchange() {
  return exchanged ? exchanged->load() : turn.getNumber();
}

/// Tiles that wait for each other are all computed, or none: by the kernel of a
/// split product where that serves all rows, else by the one beside it.
void MmaSyncTurns::emitOwn() {
  bool isSplit = frame.geometry.schedule.isSplit();
  if (!op.isGuarded() && !(resident && isSplit))
    return emit();
  if (!resident)
    return emitGuarded();
  Value hasOutside = emitHasRowsOutside(frame);
  frame.emitIf(isSplit ? b.equal(b.toI32(hasOutside), 0) : hasOutside,
               [&] { emit(); });
}

void MmaSyncTurns::finishTile(ValueRange accumulators) {
  WorkItem item = turn.getItem();
  SmallVector<Value> reduced;
  if (rows) {
    reduced = frame.geometry.exchangesRows()
                  ? rows->emit(item, accumulators, getExchange(),
                               partition.getCount())
                  : rows->emit(item, accumulators);
    accumulators = reduced;
  }
  if (resident)
    resident->emit(item, turn.getNumber(), partition.getCount(), accumulators);
  else
    emitTileEpilogue(frame, op, item, accumulators);
}

void MmaSyncTurns::emitTurn() {
  frame.computePlace();
  emitPrefetch(frame, op, turn.getItem());
  if (resident)
    resident->prefetch(turn.getItem());
  SmallVector<Value> accumulators = multiply();
  // The next turn's first stages are on their way while this one ends.
  frame.computePlace();
  Value next = b.add(turn.getNumber(), 1);
  TileCopy(frame).start(partition.getItem(next), partition.hasTurn(next));
  emitTileEnd(frame, partition, turn, accumulators,
              [&](ValueRange sums) { finishTile(sums); });
  storeNext();
}

void MmaSyncTurns::storeNext() {
  frame.computePlace();
  turn.advance(/*step=*/1);
}

/// Those with a row that split products do not serve.
void MmaSyncTurns::emitGuarded() {
  frame.emitIf(emitHasRowsOutside(frame), [&] {
    turn.store(b.i32(0));
    if (exchanged)
      frame.store({{*exchanged, b.i32(0)}});
    emitTurns(frame, turn, [&] { emitGuardedTurn(); });
    endExchanges();
  });
}

/// Nothing is copied early: the next turn's tile may have to be kept.
void MmaSyncTurns::emitGuardedTurn() {
  frame.computePlace();
  WorkItem item = turn.getItem();
  frame.emitIf(emitHasRowsOutside(frame, item), [&] {
    TileCopy(frame).start(item, b.less(b.i32(0), item.kCount));
    SmallVector<Value> sums = multiply();
    frame.computePlace();
    finishTile(sums);
    if (exchanged)
      frame.store({{*exchanged, b.add(exchanged->load(), 1)}});
  });
  storeNext();
}
