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

#include "tenon/Schedule/Wgmma/WgmmaSchedule.h"

#include "Codegen/CUDA/Emit/KernelFunction.h"
#include "Codegen/CUDA/Tiled/Wgmma/Subtiles/SubtileCopier.h"
#include "Consumer.h"
#include "DeferredTurns.h"
#include "Producer.h"
#include "WgmmaEpilogue.h"

#include "tenon/Remarks/Reason.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::tenon;

namespace {
/// With two multiplying warpgroups the copying one leaves them its registers:
/// of a multiprocessor's 65536 each of 384 threads has 168 at the start.
struct Registers {
  uint32_t copying, multiplying;
};
} // namespace

/// Most where a part of a tile is held, if copies alone are beside it.
static Registers getRegisters(WgmmaEpilogue &epilogue) {
  if (epilogue.getDeferred() && !epilogue.hasFinisher())
    return {/*copying=*/24, /*multiplying=*/240};
  return {/*copying=*/40, /*multiplying=*/232};
}

namespace {
/// The turns of the warps that multiply.
class ConsumerTurns {
public:
  ConsumerTurns(TiledFrame &frame, WorkPartition &partition,
                WgmmaEpilogue &epilogue)
      : frame(frame), b(frame.b), partition(partition), epilogue(epilogue),
        turn(frame, partition),
        isPingPong(frame.geometry.schedule.getPingPong()),
        isStreamK(frame.geometry.schedule.getStreamK()), order(frame) {
    if (isStreamK)
      passed = frame.keep();
  }

  void emit();

private:
  void emitFirst();
  void emitTurn();
  Value getPassed();
  void advance();

  TiledFrame &frame;
  KernelBuilder &b;
  WorkPartition &partition;
  WgmmaEpilogue &epilogue;
  KeptTurn turn;
  bool isPingPong, isStreamK;
  KeptScalar passed; ///< with stream-K: stages before the turn's first
  WarpgroupOrder order;
};
} // namespace

/// How many stages come before the turn's first.
Value ConsumerTurns::getPassed() {
  return isStreamK ? passed.load()
                   : b.mul(turn.getNumber(), frame.geometry.kTiles());
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
  if (isStreamK)
    frame.store({{passed, before}});
  turn.store(first);
}

void ConsumerTurns::emitTurn() {
  frame.computePlace();
  if (isPingPong)
    order.take();
  SmallVector<Value> accumulators = Consumer(frame).run(
      turn.getItem(), getPassed(), [&] { epilogue.prefetch(turn); },
      [&] {
        if (isPingPong)
          order.pass();
        epilogue.prepare(turn);
      });
  frame.computePlace();
  emitTileEnd(frame, partition, turn, accumulators,
              [&](ValueRange sums) { epilogue.emit(turn, partition, sums); });
  frame.computePlace();
  advance();
}

void ConsumerTurns::advance() {
  if (isStreamK) {
    Value count = b.add(passed.load(), turn.getItem().kCount);
    if (isPingPong) {
      Value others = b.add(turn.getNumber(), 1);
      count = b.add(count, partition.getItem(others).kCount);
    }
    frame.store({{passed, count}});
  }
  turn.advance(isPingPong ? 2 : 1);
}

void ConsumerTurns::emit() {
  emitFirst();
  epilogue.start(turn, partition);
  if (SubtileCopies *copies = epilogue.getCopies())
    copies->start();
  emitTurns(frame, turn, [&] { emitTurn(); });
}

/// A barrier for all threads of the cluster, or of the block. A cluster's makes
/// nothing visible, for which all threads would wait for a fence of the whole
/// GPU: barriers have a fence of their own.
static void emitClusterBarrier(TiledFrame &frame) {
  KernelBuilder &b = frame.b;
  if (frame.geometry.clusterBlocks() == 1) {
    NVVM::Barrier0Op::create(b);
    return;
  }
  NVVM::ClusterArriveRelaxedOp::create(b, b.getUnitAttr());
  NVVM::ClusterWaitOp::create(b, b.getUnitAttr());
}

/// When all barriers are prepared: waits for earlier kernels, and lets later
/// ones begin the same. Each role has this in its own code, behind what it
/// prepares, so that its first instructions lie behind each other: each jump
/// ahead is a wait for memory.
static void emitStart(TiledFrame &frame) {
  KernelBuilder &b = frame.b;
  emitClusterBarrier(frame);
  NVVM::GriddepcontrolOp::create(b, NVVM::GridDepActionKind::wait);
  NVVM::GriddepcontrolOp::create(b, NVVM::GridDepActionKind::launch_dependents);
}

static void emitProducer(TiledFrame &frame, TiledLinearOp op,
                         WorkPartition &partition, WgmmaEpilogue &epilogue) {
  KernelBuilder &b = frame.b;
  frame.emitIf(b.equal(frame.lane, 0), [&] {
    StageRing(frame).initialize();
    if (epilogue.hasFinisher())
      PanelFinisher(frame, op).initialize();
    NVVM::FenceMbarrierInitOp::create(b);
  });
  emitStart(frame);
  Value isElected = NVVM::ElectSyncOp::create(b, b.getI1Type(), Value());
  frame.emitIf(isElected, [&] { Producer(frame, partition).emit(); });
}

/// The copying warpgroup's other warps: warp 1 is beside a reduction, if there
/// is one, and warps 2 and 3 copy the subtiles of a warpgroup each.
static void emitOthers(TiledFrame &frame, WorkPartition &partition,
                       WgmmaEpilogue &epilogue) {
  KernelBuilder &b = frame.b;
  SubtileCopies *copies = epilogue.getCopies();
  Value warpgroup = b.sub(frame.warp, 1);
  int64_t warpgroups = getConsumerWarpgroups(frame.geometry.schedule);
  frame.emitIf(b.equal(frame.lane, 0), [&] {
    frame.emitIf(b.equal(frame.warp, 1), [&] {
      for (Value map : frame.tensorMaps)
        b.ptx("prefetch.tensormap [$0];", "l", map);
    });
    for (int64_t number = 1; copies && number <= warpgroups; ++number)
      frame.emitIf(b.equal(warpgroup, number), [&] {
        copies->initialize(number);
        NVVM::FenceMbarrierInitOp::create(b);
      });
  });
  emitStart(frame);
  if (copies)
    frame.emitIf(
        b.both(b.less(b.i32(0), warpgroup), b.less(warpgroup, 1 + warpgroups)),
        [&] {
          Value isElected =
              NVVM::ElectSyncOp::create(b, b.getI1Type(), Value());
          frame.emitIf(isElected, [&] {
            SubtileCopier(frame, partition, *copies, warpgroup).emit();
          });
        });
  if (frame.geometry.waits()) // in a warp that has nothing else to do
    frame.emitIf(b.equal(frame.warp, 1),
                 [&] { epilogue.emitBeside(partition); });
}

static void emitCopying(TiledFrame &frame, TiledLinearOp op,
                        WorkPartition &partition, WgmmaEpilogue &epilogue) {
  KernelBuilder &b = frame.b;
  if (getConsumerWarpgroups(frame.geometry.schedule) == 2)
    NVVM::SetMaxRegisterOp::create(b, getRegisters(epilogue).copying,
                                   NVVM::SetMaxRegisterAction::decrease);
  auto branch = scf::IfOp::create(b, b.equal(frame.warp, 0),
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  emitProducer(frame, op, partition, epilogue);
  b.setInsertionPointToStart(branch.elseBlock());
  emitOthers(frame, partition, epilogue);
}

static void reportNotDeferred(TiledLinearOp op, const TileGeometry &geometry,
                              bool movesByTma) {
  Reason reason = movesByTma ? Reason(ReasonCode::LittleToHideBehind,
                                      int64_t(geometry.kTiles()))
                             : Reason(ReasonCode::NotMovedByTma);
  ValuedRemark(remark::missed(
      op.getLoc(), remark::RemarkOpts::name("Defer").category("tenon-kernels")))
      << remark::add("each tile is finished before the next begins, "
                     "although the schedule has defer")
      << reason;
}

static void emitMultiplying(TiledFrame &frame, TiledLinearOp op,
                            WorkPartition &partition, WgmmaEpilogue &epilogue) {
  KernelBuilder &b = frame.b;
  const TileGeometry &geometry = frame.geometry;
  if (getConsumerWarpgroups(geometry.schedule) == 2)
    NVVM::SetMaxRegisterOp::create(b, getRegisters(epilogue).multiplying,
                                   NVVM::SetMaxRegisterAction::increase);
  emitStart(frame);
  if (DeferredEpilogue *deferred = epilogue.getDeferred())
    return DeferredTurns(frame, op, partition, *deferred, *epilogue.getCopies())
        .emit();
  if (geometry.schedule.getDefer())
    reportNotDeferred(op, geometry, /*movesByTma=*/epilogue.getCopies());
  ConsumerTurns(frame, partition, epilogue).emit();
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
  WorkPartition partition(frame);
  auto branch = scf::IfOp::create(b, b.equal(frame.warpgroup, 0),
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  emitCopying(frame, op, partition, epilogue);
  b.setInsertionPointToStart(branch.elseBlock());
  emitMultiplying(frame, op, partition, epilogue);
}
