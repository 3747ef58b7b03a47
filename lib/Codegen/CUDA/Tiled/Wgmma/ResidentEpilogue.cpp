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
  if (affine)
    tma.prepare(item);
  finish(item, turn);
  frame.emitIf(b.equal(b.add(turn, 1), turns), [&] { exchange.arrive(); });
  frame.barrier();
  frame.computePlace();
  if (!affine)
    tma.prepare(item);
  tma.emit(item, elements);
}
