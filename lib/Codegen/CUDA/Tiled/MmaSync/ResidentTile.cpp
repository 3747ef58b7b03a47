//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits the epilogue around a reduction along M, for mma_sync.
//
//===----------------------------------------------------------------------===//

#include "ResidentTile.h"

#include "tenon/Schedule/MmaSync/MmaSyncSchedule.h"

#include "Codegen/CUDA/Tiled/TileEpilogue.h"

using namespace mlir;
using namespace mlir::tenon;

ResidentWarps::WarpMemory ResidentTile::getMemory(Value tileWarp) {
  Value memory =
      b.offset(b.offset(frame.shared, frame.geometry.epilogueOffset()),
               b.mul(tileWarp, kStagingBytesPerWarp));
  int64_t bytes = frame.geometry.warpN() * kStateBytesPerColumn;
  return {memory, b.offset(memory, bytes)};
}

ResidentWarps::WarpMemory ResidentTile::getOwnMemory() {
  return getMemory(frame.tileWarp);
}

ResidentWarps::WarpMemory ResidentTile::getMemory(int64_t warp, Value part) {
  return getMemory(b.add(b.mul(part, frame.geometry.warpsM), warp));
}

/// A warp's memory is written again behind a barrier: that after `finish`, or
/// one of the next turn's main loop.
void ResidentTile::emit(const WorkItem &item, Value turn, Value turns,
                        ValueRange accumulators) {
  SmallVector<Value> elements =
      computeReduced(item, accumulators, [](ElementEmitter &, int64_t) {});
  storeWarpStates(item, elements);
  frame.barrier();
  frame.computePlace();
  publish(item, turn);
  finish(item, turn);
  frame.barrier();
  frame.computePlace();
  Value isLast = b.equal(b.add(turn, 1), turns);
  frame.emitIf(b.both(isLast, b.equal(frame.thread, 0)),
               [&] { exchange.end.announce(turns); });
  emitTileEpilogue(frame, op, item, elements, &finished);
}

void ResidentTile::clear(Value turns) {
  frame.emitIf(b.both(b.equal(frame.warp, 0), b.less(b.i32(0), turns)),
               [&] { exchange.end.clearWhenRead(turns); });
}
