//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits the epilogue around a reduction along M, for wgmma.
//
//===----------------------------------------------------------------------===//

#include "ResidentEpilogue.h"

#include "tenon/Schedule/Wgmma/WgmmaSchedule.h"

using namespace mlir;
using namespace mlir::tenon;

ResidentEpilogue::ResidentEpilogue(TiledFrame &frame, TiledLinearOp op,
                                   TmaEpilogue &tma)
    : ResidentWarps(frame, op), tma(tma) {
  tma.setFinished(finished);
  chooseStaged();
}

/// Warps have it in the epilogue memory of their warpgroup: the states of all,
/// then the origins of all.
ResidentWarps::WarpMemory ResidentEpilogue::getMemory(Value warpgroup,
                                                      Value warp) {
  int64_t tileN = frame.geometry.tileN;
  Value memory = getWarpgroupMemory(warpgroup);
  Value origins = b.offset(memory, kWarps * tileN * kStateBytesPerColumn);
  return {b.offset(memory, b.mul(warp, tileN * kStateBytesPerColumn)),
          b.offset(origins,
                   b.mul(warp, tileN * FragmentStates::kOriginBytesPerColumn))};
}

ResidentWarps::WarpMemory ResidentEpilogue::getOwnMemory() {
  return getMemory(b.sub(frame.warpgroup, 1), b.bitAnd(frame.warp, 3));
}

ResidentWarps::WarpMemory ResidentEpilogue::getMemory(int64_t warp, Value) {
  return getMemory(b.i32(warp / kWarps), b.i32(warp % kWarps));
}

void ResidentEpilogue::emit(const WorkItem &item, Value turn, Value turns,
                            ValueRange accumulators) {
  tma.copies.waitForStores();
  storeStaged();
  SmallVector<Value> elements = computeReduced(
      item, accumulators, [&](ElementEmitter &emitter, int64_t block) {
        setStaged(emitter, block);
      });
  storeWarpStates(item, elements);
  frame.barrier();
  frame.computePlace();
  publish(item, turn);
  if (!tma.copies.subtiles.operands.empty()) {
    // TMA is to write operands where the states of warps are.
    b.ptx("fence.proxy.async.shared::cta;", "~{memory}", {});
    frame.barrier();
    tma.copies.askForOperands(item);
  }
  // More loads that are on their way while the other blocks' states are. Where
  // elements were computed, kernels spilled with them.
  bool isBareProduct = reduced == op.getAccumulator() && affine;
  if (isBareProduct)
    tma.prepare(item);
  finish(item, turn);
  frame.emitIf(b.equal(b.add(turn, 1), turns), [&] { exchange.end.arrive(); });
  frame.barrier();
  frame.computePlace();
  if (!isBareProduct)
    tma.prepare(item);
  tma.emit(item, elements);
}

int64_t ResidentEpilogue::getBytesOfStates() const {
  return kWarps * frame.geometry.tileN *
         (kStateBytesPerColumn + FragmentStates::kOriginBytesPerColumn);
}

/// Those of which the reduced is computed: as many as there is memory for,
/// after the states of a warpgroup's warps and their origins.
void ResidentEpilogue::chooseStaged() {
  const TileGeometry &geometry = frame.geometry;
  int64_t room =
      getWarpgroupEpilogueBytes(geometry.schedule) - getBytesOfStates();
  for (BlockArgument operand : before.operands)
    if (isColumnOperand(operand) &&
        !getElementTypeOrSelf(operand.getType()).isF64() &&
        static_cast<int64_t>(staged.size() + 1) * geometry.tileN * 4 <= room)
      staged.push_back(operand);
}

Value ResidentEpilogue::getWarpgroupMemory(Value warpgroup) {
  const TileGeometry &geometry = frame.geometry;
  return b.offset(
      b.offset(frame.shared, geometry.epilogueOffset()),
      b.mul(warpgroup, getWarpgroupEpilogueBytes(geometry.schedule)));
}

Value ResidentEpilogue::getStaged(size_t operand, Value inTile) {
  int64_t tileN = frame.geometry.tileN;
  Value memory = getWarpgroupMemory(b.sub(frame.warpgroup, 1));
  int64_t first = getBytesOfStates() + operand * tileN * 4;
  return b.offset(b.offset(memory, first), b.mul(inTile, 4));
}

void ResidentEpilogue::prepare(const WorkItem &item) {
  frame.computePlace();
  const TileGeometry &geometry = frame.geometry;
  Value own = b.bitAnd(frame.thread, kWarpgroupThreads - 1);
  loaded.clear();
  for (BlockArgument operand : staged)
    for (int64_t first = 0; first < geometry.tileN;
         first += kWarpgroupThreads) {
      Value column =
          b.min(b.add(b.add(item.column, own), first), b.i32(geometry.n - 1));
      ElementEmitter emitter(b, frame.operands, b.toI64(column), /*lanes=*/1);
      loaded.push_back(emitter.get(operand, /*row=*/0, /*lane=*/0));
    }
}

/// Comes when the warpgroup's buffers are free.
void ResidentEpilogue::storeStaged() {
  if (staged.empty())
    return;
  const TileGeometry &geometry = frame.geometry;
  Value own = b.bitAnd(frame.thread, kWarpgroupThreads - 1);
  const Value *next = loaded.begin();
  for (size_t operand = 0; operand != staged.size(); ++operand)
    for (int64_t first = 0; first < geometry.tileN;
         first += kWarpgroupThreads) {
      Value inTile = b.add(own, first), value = *next++;
      auto store = [&] {
        LLVM::StoreOp::create(b, value, getStaged(operand, inTile),
                              /*alignment=*/4);
      };
      if (first + kWarpgroupThreads <= geometry.tileN)
        store();
      else
        frame.emitIf(b.less(inTile, geometry.tileN), store);
    }
  frame.warpgroupBarrier();
}

/// Tells `emitter` the operands of this thread's two columns of a block of 8.
void ResidentEpilogue::setStaged(ElementEmitter &emitter, int64_t block) {
  constexpr unsigned lanes = 2;
  Value inTile = b.add(frame.getLanePair(), 8 * block);
  for (auto [index, operand] : llvm::enumerate(staged)) {
    SmallVector<Value> values =
        loadLanes(b, getStaged(index, inTile), b.i64(0), b.getF32Type(), lanes);
    for (unsigned lane = 0; lane != lanes; ++lane)
      emitter.set(operand, /*row=*/0, lane, values[lane]);
  }
}
