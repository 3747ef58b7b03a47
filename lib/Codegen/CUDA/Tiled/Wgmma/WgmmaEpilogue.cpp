//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Chooses the epilogue of a wgmma kernel.
//
//===----------------------------------------------------------------------===//

#include "WgmmaEpilogue.h"

#include "Codegen/CUDA/Tiled/TileEpilogue.h"

using namespace mlir;
using namespace mlir::tenon;

WgmmaEpilogue::WgmmaEpilogue(TiledFrame &frame, TiledLinearOp op)
    : frame(frame), op(op) {
  auto subtiles = EpilogueSubtiles::choose(op, frame.geometry);
  if (frame.geometry.isSwapped())
    swapped.emplace(frame, op, std::move(subtiles));
  else if (subtiles)
    tma.emplace(frame, op, std::move(*subtiles));
  if (reducesRows(frame.geometry.schedule))
    rows.emplace(frame, op);
  if (!frame.geometry.isResident())
    return;
  if (swapped)
    swappedResident.emplace(frame, op, *swapped);
  else
    resident.emplace(frame, op, *tma);
}

SubtileCopies *WgmmaEpilogue::getCopies() {
  if (swapped)
    return swapped->tile.getCopies();
  return tma ? &tma->copies : nullptr;
}

void WgmmaEpilogue::prefetch(KeptTurn &turn) {
  // Where TMA loads them beside the products it is in time: a tile of them at
  // once, on all multiprocessors, is what x and w would wait for.
  if (frame.geometry.isResident() || rows || !getCopies())
    emitPrefetch(frame, op, turn.getItem());
  if (swappedResident)
    swappedResident->prefetch(turn.getItem());
  if (resident) // loads [M, N] operands later
    resident->prefetch(turn.getItem());
  else if (SubtileCopies *copies = getCopies())
    copies->askForOperands(turn.getItem());
}

void WgmmaEpilogue::prepare(KeptTurn &turn) {
  if (resident)
    resident->prepare(turn.getItem());
  else if (swapped)
    swapped->prepare(turn.getItem());
  else if (tma) {
    WorkItem item = turn.getItem();
    tma->copies.acquireAhead(tma->copies.subtiles.getCount());
    tma->prepare(item);
  }
}

void WgmmaEpilogue::emit(KeptTurn &turn, WorkPartition &partition,
                         ValueRange accumulators) {
  WorkItem item = turn.getItem();
  SmallVector<Value> reduced;
  if (rows) {
    reduced = frame.geometry.exchangesRows()
                  ? rows->emit(item, accumulators, turn.getNumber(),
                               partition.getCount())
                  : rows->emit(item, accumulators);
    accumulators = reduced;
  }
  if (resident)
    resident->emit(item, turn.getNumber(), partition.getCount(), accumulators);
  else if (swappedResident)
    swappedResident->emit(item, turn.getNumber(), partition.getCount(),
                          accumulators);
  else if (swapped)
    swapped->emit(item, accumulators);
  else if (tma)
    tma->emit(item, accumulators);
  else
    emitTileEpilogue(frame, op, item, accumulators);
}

void WgmmaEpilogue::start(KeptTurn &turn, WorkPartition &partition) {
  if (rows && frame.geometry.exchangesRows())
    rows->start(turn.getNumber(), partition.getCount());
}

void WgmmaEpilogue::emitBeside(WorkPartition &partition) {
  if (rows)
    return rows->clear(partition.getCount());
  if (resident)
    return resident->clear(partition.getCount());
  if (hasFinisher())
    return PanelFinisher(frame, op).emit(partition);
  swappedResident->clear(partition.getCount());
}

DeferredEpilogue *WgmmaEpilogue::getDeferred() {
  const TileGeometry &geometry = frame.geometry;
  if (!geometry.schedule.getDefer() || !getCopies())
    return nullptr;
  if (swappedResident)
    return swappedResident->defers() ? &*swappedResident : nullptr;
  // A stage for each step, one to load what they need, and one before.
  int64_t steps = swapped->getNumSteps();
  return steps != 0 && geometry.kTiles() > 2 + steps ? &*swapped : nullptr;
}
