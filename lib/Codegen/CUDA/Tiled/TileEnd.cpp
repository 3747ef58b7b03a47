//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits the loop over turns, and what becomes of their accumulators.
//
//===----------------------------------------------------------------------===//

#include "TileEnd.h"

#include "PartialTiles.h"

using namespace mlir;
using namespace mlir::tenon;

KeptTurn::KeptTurn(TiledFrame &frame) : frame(frame) {
  for (KeptScalar *scalar : {&number, &row, &column, &kBegin, &kCount})
    *scalar = frame.keep();
  if (frame.geometry.schedule.getStreamK())
    return;
  nextRow = frame.keep();
  nextColumn = frame.keep();
}

void KeptTurn::store(Value newNumber, const WorkItem &item) {
  frame.syncWarp(); // all lanes have read the turn before
  frame.emitIf(frame.b.equal(frame.lane, 0), [&] {
    number.store(newNumber);
    row.store(item.row);
    column.store(item.column);
    kBegin.store(item.kBegin);
    kCount.store(item.kCount);
  });
  frame.syncWarp();
}

void KeptTurn::prepareNext(WorkPartition &partition, int64_t step) {
  if (frame.geometry.schedule.getStreamK())
    return;
  WorkItem next = partition.getItem(frame.b.add(number.load(), step));
  frame.emitIf(frame.b.equal(frame.lane, 0), [&] {
    nextRow.store(next.row);
    nextColumn.store(next.column);
  });
}

void KeptTurn::advance(WorkPartition &partition, int64_t step) {
  Value next = frame.b.add(number.load(), step);
  if (frame.geometry.schedule.getStreamK())
    return store(next, partition.getItem(next));
  WorkItem item = getItem(); // K is the same for all
  item.row = nextRow.load();
  item.column = nextColumn.load();
  store(next, item);
}

WorkItem KeptTurn::getItem() {
  return {row.load(), column.load(), kBegin.load(), kCount.load()};
}

void tenon::emitTurns(TiledFrame &frame, WorkPartition &partition,
                      KeptTurn &turn, llvm::function_ref<void()> body) {
  KernelBuilder &b = frame.b;
  auto emitIn = [&](OpBuilder &builder, llvm::function_ref<void()> emit) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(builder.getInsertionBlock(),
                        builder.getInsertionPoint());
    emit();
  };
  scf::WhileOp::create(
      b, TypeRange(), ValueRange(),
      [&](OpBuilder &builder, Location, ValueRange) {
        emitIn(builder, [&] {
          Value isLeft = b.less(turn.getNumber(), partition.getCount());
          scf::ConditionOp::create(b, isLeft, ValueRange());
        });
      },
      [&](OpBuilder &builder, Location, ValueRange) {
        emitIn(builder, [&] {
          body();
          scf::YieldOp::create(b);
        });
      });
}

void tenon::emitTileEnd(TiledFrame &frame, WorkPartition &partition,
                        KeptTurn &turn, ValueRange accumulators,
                        llvm::function_ref<void(ValueRange)> finish) {
  if (!frame.geometry.schedule.getStreamK())
    return finish(accumulators);
  KernelBuilder &b = frame.b;
  WorkItem item = turn.getItem();
  Value end = b.add(item.kBegin, item.kCount);
  auto branch = scf::IfOp::create(b, b.equal(end, frame.geometry.kTiles()),
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  SmallVector<Value> sums = emitGather(frame, partition, item, accumulators);
  frame.computePlace();
  finish(sums);
  b.setInsertionPointToStart(branch.elseBlock());
  frame.computePlace();
  emitPublish(frame, accumulators);
}
