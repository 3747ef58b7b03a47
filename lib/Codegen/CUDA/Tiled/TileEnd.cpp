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
#include "TiledFamily.h"

using namespace mlir;
using namespace mlir::tenon;

KeptTurn::KeptTurn(TiledFrame &frame, WorkPartition &partition)
    : frame(frame), partition(partition), number(frame.keepForTurns()),
      keepsItem(frame.geometry.family->traits.keepsTurns ||
                frame.geometry.schedule.getStreamK()) {
  if (keepsItem)
    for (KeptScalar *scalar : {&row, &column, &kBegin, &kCount})
      *scalar = frame.keep();
}

void KeptTurn::store(Value newNumber) {
  if (!keepsItem)
    return frame.store({{number, newNumber}});
  WorkItem item = partition.getItem(newNumber);
  frame.store({{number, newNumber},
               {row, item.row},
               {column, item.column},
               {kBegin, item.kBegin},
               {kCount, item.kCount}});
}

Value KeptTurn::getNumber() {
  // With defer no register is left to hold what is computed of it.
  bool isTight = number.isInRegister() && frame.geometry.schedule.getDefer();
  return isTight ? frame.b.readAnew(number.load()) : number.load();
}

WorkItem KeptTurn::getItem() {
  if (!keepsItem)
    return partition.getItem(getNumber());
  return {row.load(), column.load(), kBegin.load(), kCount.load()};
}

void tenon::emitTurns(TiledFrame &frame, KeptTurn &turn,
                      llvm::function_ref<void()> body) {
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
          scf::ConditionOp::create(b, turn.exists(), ValueRange());
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
