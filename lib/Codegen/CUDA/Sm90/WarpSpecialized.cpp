//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Puts a wgmma kernel together: start, copying and multiplying warps, end.
//
//===----------------------------------------------------------------------===//

#include "WarpSpecialized.h"

#include "../KernelFunction.h"
#include "Consumer.h"
#include "DeferredTurns.h"
#include "Producer.h"
#include "SubtileCopier.h"
#include "WgmmaEpilogue.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;
using namespace mlir::tenon;

// With two multiplying warpgroups the copying one leaves them its registers: of
// a multiprocessor's 65536 each of 384 threads has 168 at the start.
static constexpr uint32_t kProducerRegisters = 40, kConsumerRegisters = 232;

namespace {
/// The turns of the warps that multiply.
class ConsumerTurns {
public:
  ConsumerTurns(TiledFrame &frame, WorkPartition &partition,
                WgmmaEpilogue &epilogue)
      : frame(frame), b(frame.b), partition(partition), epilogue(epilogue),
        turn(frame), passed(frame.keep()),
        isPingPong(frame.geometry.schedule.getPingPong()), order(frame) {}

  void emit();

private:
  void emitFirst();
  void emitTurn();
  void storePassed(Value count);

  TiledFrame &frame;
  KernelBuilder &b;
  WorkPartition &partition;
  WgmmaEpilogue &epilogue;
  KeptTurn turn;
  KeptScalar passed; ///< stages before the turn's first
  bool isPingPong;
  WarpgroupOrder order;
};
} // namespace

void ConsumerTurns::storePassed(Value count) {
  frame.emitIf(b.equal(frame.lane, 0), [&] { passed.store(count); });
}

/// The warpgroup's first turn. With ping-pong the second warpgroup begins with
/// turn 1, when the first has started its products. Stages arrive in the order
/// of turns, so this also keeps both in the same round of the ring, which a
/// barrier's parity cannot tell apart.
void ConsumerTurns::emitFirst() {
  Value first = b.i32(0), before = b.i32(0);
  if (isPingPong) {
    Value isSecond = b.equal(frame.warpgroup, 2);
    first = b.toI32(isSecond);
    before = b.select(isSecond, partition.getItem(b.i32(0)).kCount, b.i32(0));
    frame.emitIf(isSecond, [&] { order.pass(); });
  } else if (Consumer::alternates(frame.geometry)) {
    frame.emitIf(b.equal(frame.warpgroup, 2), [&] { order.pass(); });
  }
  storePassed(before);
  turn.store(first, partition.getItem(first));
}

void ConsumerTurns::emitTurn() {
  int64_t step = isPingPong ? 2 : 1;
  frame.computePlace();
  if (isPingPong)
    order.take();
  SmallVector<Value> accumulators = Consumer(frame).run(
      turn.getItem(), passed.load(), [&] { epilogue.prefetch(turn); },
      [&] {
        if (isPingPong)
          order.pass();
        epilogue.prepare(turn);
        turn.prepareNext(partition, step);
      });
  frame.computePlace();
  emitTileEnd(frame, partition, turn, accumulators,
              [&](ValueRange sums) { epilogue.emit(turn, partition, sums); });
  frame.computePlace();
  Value count = b.add(passed.load(), turn.getItem().kCount);
  if (isPingPong) {
    Value others = b.add(turn.getNumber(), 1);
    count = b.add(count, partition.getItem(others).kCount);
  }
  frame.syncWarp(); // all lanes have read what is stored now
  storePassed(count);
  turn.advance(partition, step);
}

void ConsumerTurns::emit() {
  emitFirst();
  if (SubtileCopies *copies = epilogue.getCopies())
    copies->start();
  emitTurns(frame, partition, turn, [&] { emitTurn(); });
}

/// A barrier for all threads of the cluster, or of the block. A cluster's makes
/// nothing visible, for which all threads would wait for a fence of the whole
/// GPU: barriers have a fence of their own, and at the end nothing is read.
static void emitClusterBarrier(TiledFrame &frame) {
  KernelBuilder &b = frame.b;
  if (frame.geometry.clusterBlocks() == 1) {
    NVVM::Barrier0Op::create(b);
    return;
  }
  NVVM::ClusterArriveRelaxedOp::create(b, b.getUnitAttr());
  NVVM::ClusterWaitOp::create(b, b.getUnitAttr());
}

/// Everything that needs no memory that an earlier kernel writes; then waits
/// for earlier kernels, and lets later ones begin the same.
static void emitStart(TiledFrame &frame, TiledLinearOp op,
                      WgmmaEpilogue &epilogue) {
  KernelBuilder &b = frame.b;
  Value isFirst = b.both(b.equal(frame.warp, 0), b.equal(frame.lane, 0));
  frame.emitIf(isFirst, [&] {
    StageRing(frame).initialize();
    if (SubtileCopies *copies = epilogue.getCopies())
      copies->initialize();
    if (epilogue.hasFinisher())
      PanelFinisher(frame, op).initialize();
    NVVM::FenceMbarrierInitOp::create(b);
    for (Value map : frame.tensorMaps)
      b.ptx("prefetch.tensormap [$0];", "l", map);
  });
  emitClusterBarrier(frame);
  NVVM::GriddepcontrolOp::create(b, NVVM::GridDepActionKind::wait);
  NVVM::GriddepcontrolOp::create(b, NVVM::GridDepActionKind::launch_dependents);
}

/// Warp 2 copies the first multiplying warpgroup's subtiles, and warp 3 the
/// second's, if there is one.
static void emitCopier(TiledFrame &frame, WorkPartition &partition,
                       SubtileCopies &copies) {
  KernelBuilder &b = frame.b;
  Value warpgroup = b.sub(frame.warp, 1);
  Value isLess =
      b.less(warpgroup, 1 + getConsumerWarpgroups(frame.geometry.schedule));
  frame.emitIf(b.both(b.less(b.i32(0), warpgroup), isLess), [&] {
    Value isElected = NVVM::ElectSyncOp::create(b, b.getI1Type(), Value());
    frame.emitIf(isElected, [&] {
      SubtileCopier(frame, partition, copies, warpgroup).emit();
    });
  });
}

static void emitProducer(TiledFrame &frame, WorkPartition &partition,
                         WgmmaEpilogue &epilogue) {
  KernelBuilder &b = frame.b;
  if (getConsumerWarpgroups(frame.geometry.schedule) == 2)
    NVVM::SetMaxRegisterOp::create(b, kProducerRegisters,
                                   NVVM::SetMaxRegisterAction::decrease);
  frame.emitIf(b.equal(frame.warp, 0), [&] {
    Value isElected = NVVM::ElectSyncOp::create(b, b.getI1Type(), Value());
    frame.emitIf(isElected, [&] { Producer(frame, partition).emit(); });
  });
  if (SubtileCopies *copies = epilogue.getCopies())
    emitCopier(frame, partition, *copies);
  if (frame.geometry.isResident()) // in a warp that has nothing else to do
    frame.emitIf(b.equal(frame.warp, 1),
                 [&] { epilogue.emitBeside(partition); });
}

static void reportNotDeferred(TiledLinearOp op, const TileGeometry &geometry) {
  remark::missed(op.getLoc(),
                 remark::RemarkOpts::name("Defer").category("tenon-kernels"))
      << remark::add("each tile is finished before the next begins, although "
                     "the schedule has defer")
      << remark::reason("the products of {0} K tiles hide too little, or with "
                        "reduction = resident not all [M, N] results are of "
                        "one type of 16 bits",
                        geometry.kTiles());
}

void tenon::emitWarpSpecialized(TiledFrame &frame, TiledLinearOp op) {
  KernelBuilder &b = frame.b;
  const TileGeometry &geometry = frame.geometry;
  if (geometry.clusterBlocks() != 1)
    frame.getFunction()->setAttr(
        NVVM::NVVMDialect::getClusterDimAttrName(),
        b.getDenseI32ArrayAttr(
            {static_cast<int32_t>(geometry.clusterBlocks()), 1, 1}));
  WgmmaEpilogue epilogue(frame, op);
  emitStart(frame, op, epilogue);
  WorkPartition partition(frame);
  auto branch = scf::IfOp::create(b, b.equal(frame.warpgroup, 0),
                                  /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    emitProducer(frame, partition, epilogue);
    b.setInsertionPointToStart(branch.elseBlock());
    if (getConsumerWarpgroups(geometry.schedule) == 2)
      NVVM::SetMaxRegisterOp::create(b, kConsumerRegisters,
                                     NVVM::SetMaxRegisterAction::increase);
    if (DeferredEpilogue *deferred = epilogue.getDeferred()) {
      DeferredTurns(frame, op, partition, *deferred, *epilogue.getCopies())
          .emit();
    } else {
      if (geometry.schedule.getDefer())
        reportNotDeferred(op, geometry);
      ConsumerTurns(frame, partition, epilogue).emit();
    }
  }
  if (geometry.clusterBlocks() != 1)
    emitClusterBarrier(frame);
}
