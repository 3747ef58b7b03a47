//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits the turns of the warp that ends reductions.
//
//===----------------------------------------------------------------------===//

#include "PanelFinisher.h"

#include "Codegen/CUDA/Tiled/Wgmma/Subtiles/Mbarrier.h"

using namespace mlir;
using namespace mlir::tenon;

void PanelFinisher::initialize() {
  emitBarrierInit(b, getFinishedBarrier(), /*arrivals=*/1);
}

/// Of a panel of R blocks the r-th has columns r, r + R and so on, a lane each.
void PanelFinisher::finishOwnColumns(const WorkItem &item, Value turn) {
  Value blocks = exchange.memory.getBlocks();
  Value own = b.div(item.row, frame.geometry.tileM);
  auto loop =
      scf::ForOp::create(b, b.add(own, b.mul(frame.lane, blocks)),
                         b.i32(frame.geometry.tileN), b.mul(blocks, 32));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value inTile = loop.getInductionVar();
  Value stores = arith::ConstantOp::create(b, b.getBoolAttr(true));
  finishColumn(item, turn, inTile, stores, [&](ArrayRef<Value> kept) {
    exchange.memory.publish(turn, inTile, kept);
  });
}

/// What finishers have published, 32 columns at a time: the first wait, and the
/// others are there by then.
void PanelFinisher::fetchTable(Value turn) {
  auto loop =
      scf::ForOp::create(b, b.i32(0), b.i32(frame.geometry.tileN), b.i32(32));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value inTile = b.add(loop.getInductionVar(), frame.lane);
  finished.store(inTile, exchange.memory.getPublished(turn, inTile,
                                                      finished.getNumKept()));
}

/// Begins when the own block's states are stored. So it is never more than a
/// turn ahead of the warps that wait for it, though others do not wait for a
/// block that has no rows.
void PanelFinisher::emitTurn(WorkPartition &partition, Value turn) {
  exchange.end.wait();
  frame.computePlace();
  finishOwnColumns(partition.getItem(turn), turn);
  frame.computePlace();
  frame.syncWarp();
  fetchTable(turn);
  frame.syncWarp(); // all lanes have written
  frame.emitIf(b.equal(frame.lane, 0),
               [&] { emitArrival(b, getFinishedBarrier()); });
}

/// The number of turns is loaded anew each time: registers are few.
void PanelFinisher::emit(WorkPartition &partition) {
  Type type = b.getI32Type();
  auto loop = scf::WhileOp::create(b, type, b.i32(0));
  {
    OpBuilder::InsertionGuard guard(b);
    Block *before = b.createBlock(&loop.getBefore(), {}, type, b.getLoc());
    Value turn = before->getArgument(0);
    frame.computePlace();
    scf::ConditionOp::create(b, partition.hasTurn(turn), turn);
    turn =
        b.createBlock(&loop.getAfter(), {}, type, b.getLoc())->getArgument(0);
    emitTurn(partition, turn);
    scf::YieldOp::create(b, b.add(turn, 1));
  }
  frame.computePlace();
  exchange.end.clear(partition.getCount());
}
