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
#include "../Tiled/TileEnd.h"
#include "../Tiled/TileEpilogue.h"
#include "Consumer.h"
#include "Producer.h"
#include "ResidentEpilogue.h"
#include "SwappedResident.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::tenon;

// With two multiplying warpgroups the copying one leaves them its registers: of
// a multiprocessor's 65536 each of 384 threads has 168 at the start.
static constexpr uint32_t kProducerRegisters = 40, kConsumerRegisters = 232;

namespace {
/// How tiles are finished: in none of these ways, without TMA, as in kernels of
/// family mma_sync.
struct Epilogues {
  Epilogues(TiledFrame &frame, TiledLinearOp op);

  /// Null where TMA moves no [M, N] tensor.
  SubtileCopies *getCopies();
  /// In a warp that does not multiply, after all turns.
  void clear(Value turns);

  std::optional<SwappedEpilogue> swapped; ///< with swapped operands
  std::optional<TmaEpilogue> tma;         ///< through TMA, with others
  // If the region has a reduction.
  std::optional<ResidentEpilogue> resident;
  std::optional<SwappedResident> swappedResident;
};

/// The turns of the warps that multiply.
class ConsumerTurns {
public:
  ConsumerTurns(TiledFrame &frame, WorkPartition &partition, TiledLinearOp op,
                Epilogues &epilogues)
      : frame(frame), b(frame.b), partition(partition), op(op),
        epilogues(epilogues), turn(frame), passed(frame.keep()),
        isPingPong(frame.geometry.schedule.getPingPong()), order(frame) {}

  void emit();

private:
  void emitFirst();
  void emitTurn();
  void prefetch();
  void prepareEnd();
  void finishTile(ValueRange accumulators);
  void storePassed(Value count);

  TiledFrame &frame;
  KernelBuilder &b;
  WorkPartition &partition;
  TiledLinearOp op;
  Epilogues &epilogues;
  KeptTurn turn;
  KeptScalar passed; ///< stages before the turn's first
  bool isPingPong;
  WarpgroupOrder order;
};
} // namespace

Epilogues::Epilogues(TiledFrame &frame, TiledLinearOp op) {
  auto subtiles = EpilogueSubtiles::choose(op, frame.geometry);
  if (frame.geometry.isSwapped())
    swapped.emplace(frame, op, std::move(subtiles));
  else if (subtiles)
    tma.emplace(frame, op, std::move(*subtiles));
  if (!frame.geometry.isResident())
    return;
  if (swapped)
    swappedResident.emplace(frame, op, *swapped);
  else
    resident.emplace(frame, op, *tma);
}

void Epilogues::clear(Value turns) {
  if (resident)
    resident->clear(turns);
  else
    swappedResident->clear(turns);
}

SubtileCopies *Epilogues::getCopies() {
  if (swapped)
    return swapped->getCopies();
  return tma ? &tma->copies : nullptr;
}

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

void ConsumerTurns::prefetch() {
  // Not by TMA, which moves so many rows a clock and is busy with x and w.
  emitPrefetch(frame, op, turn.getItem());
  if (epilogues.swappedResident)
    epilogues.swappedResident->prefetch(turn.getItem());
  if (epilogues.resident)
    epilogues.resident->prefetch(turn.getItem());
  else if (SubtileCopies *copies = epilogues.getCopies())
    copies->loadFirst(turn.getItem());
}

/// While the last products are computed.
void ConsumerTurns::prepareEnd() {
  if (epilogues.resident)
    epilogues.resident->prepare(turn.getItem());
  else if (epilogues.swapped)
    epilogues.swapped->prepare(turn.getItem());
  else if (epilogues.tma)
    epilogues.tma->prepare(turn.getItem());
}

void ConsumerTurns::finishTile(ValueRange accumulators) {
  WorkItem item = turn.getItem();
  if (epilogues.resident)
    epilogues.resident->emit(item, turn.getNumber(), partition.getCount(),
                             accumulators);
  else if (epilogues.swappedResident)
    epilogues.swappedResident->emit(item, turn.getNumber(),
                                    partition.getCount(), accumulators);
  else if (epilogues.swapped)
    epilogues.swapped->emit(item, accumulators);
  else if (epilogues.tma)
    epilogues.tma->emit(item, accumulators);
  else
    emitTileEpilogue(frame, op, item, accumulators);
}

void ConsumerTurns::emitTurn() {
  int64_t step = isPingPong ? 2 : 1;
  frame.computePlace();
  prefetch();
  if (isPingPong)
    order.take();
  SmallVector<Value> accumulators =
      Consumer(frame).run(turn.getItem(), passed.load(), [&] {
        if (isPingPong)
          order.pass();
        prepareEnd();
        turn.prepareNext(partition, step);
      });
  frame.computePlace();
  emitTileEnd(frame, partition, turn, accumulators,
              [&](ValueRange sums) { finishTile(sums); });
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
  if (SubtileCopies *copies = epilogues.getCopies())
    copies->start();
  emitTurns(frame, partition, turn, [&] { emitTurn(); });
  if (SubtileCopies *copies = epilogues.getCopies())
    copies->finish();
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
static void emitStart(TiledFrame &frame, SubtileCopies *copies) {
  KernelBuilder &b = frame.b;
  Value isFirst = b.both(b.equal(frame.warp, 0), b.equal(frame.lane, 0));
  frame.emitIf(isFirst, [&] {
    StageRing(frame).initialize();
    if (copies)
      copies->initialize();
    NVVM::FenceMbarrierInitOp::create(b);
    for (Value map : frame.tensorMaps)
      b.ptx("prefetch.tensormap [$0];", "l", map);
  });
  emitClusterBarrier(frame);
  NVVM::GriddepcontrolOp::create(b, NVVM::GridDepActionKind::wait);
  NVVM::GriddepcontrolOp::create(b, NVVM::GridDepActionKind::launch_dependents);
}

static void emitProducer(TiledFrame &frame, WorkPartition &partition,
                         Epilogues &epilogues) {
  KernelBuilder &b = frame.b;
  if (getConsumerWarpgroups(frame.geometry.schedule) == 2)
    NVVM::SetMaxRegisterOp::create(b, kProducerRegisters,
                                   NVVM::SetMaxRegisterAction::decrease);
  frame.emitIf(b.equal(frame.warp, 0), [&] {
    Value isElected = NVVM::ElectSyncOp::create(b, b.getI1Type(), Value());
    frame.emitIf(isElected, [&] { Producer(frame, partition).emit(); });
  });
  if (frame.geometry.isResident()) // in a warp that has nothing else to do
    frame.emitIf(b.equal(frame.warp, 1),
                 [&] { epilogues.clear(partition.getCount()); });
}

void tenon::emitWarpSpecialized(TiledFrame &frame, TiledLinearOp op) {
  KernelBuilder &b = frame.b;
  const TileGeometry &geometry = frame.geometry;
  if (geometry.clusterBlocks() != 1)
    frame.getFunction()->setAttr(
        NVVM::NVVMDialect::getClusterDimAttrName(),
        b.getDenseI32ArrayAttr(
            {static_cast<int32_t>(geometry.clusterBlocks()), 1, 1}));
  Epilogues epilogues(frame, op);
  emitStart(frame, epilogues.getCopies());
  WorkPartition partition(frame);
  ConsumerTurns turns(frame, partition, op, epilogues);
  auto branch = scf::IfOp::create(b, b.equal(frame.warpgroup, 0),
                                  /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    emitProducer(frame, partition, epilogues);
    b.setInsertionPointToStart(branch.elseBlock());
    if (getConsumerWarpgroups(geometry.schedule) == 2)
      NVVM::SetMaxRegisterOp::create(b, kConsumerRegisters,
                                     NVVM::SetMaxRegisterAction::increase);
    turns.emit();
  }
  if (geometry.clusterBlocks() != 1)
    emitClusterBarrier(frame);
}
