//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Builds the ring's barriers and the waits on them.
//
//===----------------------------------------------------------------------===//

#include "StageRing.h"

#include "tenon/Schedule/Wgmma/WgmmaSchedule.h"

#include "Codegen/CUDA/Tiled/Wgmma/Subtiles/Mbarrier.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::tenon;

StageRing::StageRing(TiledFrame &frame)
    : frame(frame), b(frame.b),
      barriers(b.offset(frame.shared, frame.geometry.barriersOffset())) {}

int64_t StageRing::getReleases() {
  // With ping-pong one warpgroup of a block multiplies a stage.
  return frame.geometry.threads() / kWarpgroupThreads *
         frame.geometry.clusterBlocks();
}

void StageRing::initialize() {
  for (int64_t stage = 0; stage != frame.geometry.stages; ++stage) {
    emitBarrierInit(b, getFullBarrier(b.i32(stage)), 1);
    emitBarrierInit(b, getEmptyBarrier(b.i32(stage)), getReleases());
  }
}

RingPosition StageRing::getPosition(Value count) {
  int64_t stages = frame.geometry.stages;
  return {b.rem(count, stages), b.bitAnd(b.div(count, stages), 1)};
}

RingPosition StageRing::getNext(const RingPosition &position) {
  Value next = b.add(position.stage, 1);
  Value wraps = b.equal(next, frame.geometry.stages);
  return {b.select(wraps, b.i32(0), next),
          b.bitXor(position.parity, b.toI32(wraps))};
}

Value StageRing::getMemory(Value stage) {
  return b.offset(frame.shared, b.mul(stage, frame.geometry.stageBytes()));
}

Value StageRing::getFullBarrier(Value stage) {
  return b.offset(barriers, b.shiftLeft(stage, 3));
}

Value StageRing::getEmptyBarrier(Value stage) {
  return b.offset(b.offset(barriers, 8 * frame.geometry.stages),
                  b.shiftLeft(stage, 3));
}

void StageRing::waitEmpty(const RingPosition &position) {
  // In the first round every stage is free: a barrier that has not completed
  // any phase passes for the odd one before.
  emitBarrierWait(b, getEmptyBarrier(position.stage),
                  b.bitXor(position.parity, 1));
}

void StageRing::expectBytes(Value stage) {
  emitExpectBytes(b, getFullBarrier(stage), frame.geometry.stageBytes());
}

void StageRing::waitFull(const RingPosition &position) {
  emitBarrierWait(b, getFullBarrier(position.stage), position.parity);
}

void StageRing::release(Value stage) {
  Value thread = b.bitAnd(frame.thread, kWarpgroupThreads - 1);
  Value barrier = getEmptyBarrier(stage);
  int64_t blocks = frame.geometry.clusterBlocks();
  // Thread i of the warpgroup tells block i of the cluster. Through nvvm the
  // arrival at a remote barrier would come with a fence of all memory.
  frame.emitIf(b.less(thread, blocks), [&] {
    if (blocks == 1)
      return emitArrival(b, barrier);
    b.ptx("{ .reg .b32 remote; mapa.shared::cluster.u32 remote, $0, $1; "
          "mbarrier.arrive.shared::cluster.b64 _, [remote]; }",
          "r,r,~{memory}", {b.toAddress(barrier), thread});
  });
}
