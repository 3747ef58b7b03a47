//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Puts a tiled kernel together: turns, main loop, epilogue.
//
//===----------------------------------------------------------------------===//

#include "TiledKernel.h"

#include "../Sm80/MainLoop.h"
#include "PartialTiles.h"
#include "TileEpilogue.h"

using namespace mlir;
using namespace mlir::tenon;

namespace {
/// A block's turns.
class Turns {
public:
  Turns(TiledFrame &frame, TiledLinearOp op)
      : frame(frame), b(frame.b), op(op), partition(frame) {
    for (KeptScalar *scalar : {&turn, &row, &column, &kBegin, &kCount})
      *scalar = frame.keep();
  }

  void emit();

private:
  void emitTurn();
  void emitEnd(ValueRange accumulators);
  void keep(Value number, const WorkItem &item);
  WorkItem getItem();

  TiledFrame &frame;
  KernelBuilder &b;
  TiledLinearOp op;
  WorkPartition partition;
  KeptScalar turn, row, column, kBegin, kCount; ///< of the turn at hand
};
} // namespace

/// Keeps what a turn is about until its main loop is over.
void Turns::keep(Value number, const WorkItem &item) {
  frame.syncWarp(); // all lanes have read the turn before
  frame.emitIf(b.equal(frame.lane, 0), [&] {
    turn.store(number);
    row.store(item.row);
    column.store(item.column);
    kBegin.store(item.kBegin);
    kCount.store(item.kCount);
  });
  frame.syncWarp();
}

WorkItem Turns::getItem() {
  return {row.load(), column.load(), kBegin.load(), kCount.load()};
}

void Turns::emit() {
  WorkItem first = partition.getItem(b.i32(0));
  MainLoop(frame).start(first, b.less(b.i32(0), partition.getCount()));
  keep(b.i32(0), first);
  auto isLeft = [&](OpBuilder &builder, Location, ValueRange) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(builder.getInsertionBlock(),
                        builder.getInsertionPoint());
    scf::ConditionOp::create(b, b.less(turn.load(), partition.getCount()),
                             ValueRange());
  };
  auto emitBody = [&](OpBuilder &builder, Location, ValueRange) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(builder.getInsertionBlock(),
                        builder.getInsertionPoint());
    emitTurn();
    scf::YieldOp::create(b);
  };
  scf::WhileOp::create(b, TypeRange(), ValueRange(), isLeft, emitBody);
}

void Turns::emitTurn() {
  frame.computePlace();
  emitPrefetch(frame, op, getItem());
  SmallVector<Value> accumulators = MainLoop(frame).run(getItem());
  // The next turn's first stages are on their way while this one ends.
  frame.computePlace();
  Value next = b.add(turn.load(), 1);
  MainLoop(frame).start(partition.getItem(next),
                        b.less(next, partition.getCount()));
  emitEnd(accumulators);
  frame.computePlace();
  next = b.add(turn.load(), 1);
  keep(next, partition.getItem(next));
}

/// What is done with a turn's accumulators: a tile's front goes to the
/// workspace, its end is completed and finished.
void Turns::emitEnd(ValueRange accumulators) {
  WorkItem item = getItem();
  if (!frame.geometry.schedule.getStreamK())
    return emitTileEpilogue(frame, op, item, accumulators);
  Value end = b.add(item.kBegin, item.kCount);
  auto branch = scf::IfOp::create(b, b.equal(end, frame.geometry.kTiles()),
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  SmallVector<Value> sums = emitGather(frame, partition, item, accumulators);
  frame.computePlace();
  emitTileEpilogue(frame, op, getItem(), sums);
  b.setInsertionPointToStart(branch.elseBlock());
  frame.computePlace();
  emitPublish(frame, accumulators);
}

LLVM::LLVMFuncOp tenon::emitTiledKernel(gpu::GPUModuleOp module, StringRef name,
                                        TiledLinearOp op,
                                        const TileGeometry &geometry) {
  TiledFrame frame(module, name, op, geometry);
  Turns(frame, op).emit();
  frame.close();
  return frame.getFunction();
}
