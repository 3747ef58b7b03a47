//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loads operands with one value a column before a reduction needs them.
//
//===----------------------------------------------------------------------===//

#include "ResidentEpilogue.h"

#include "tenon/Schedule/Wgmma/WgmmaSchedule.h"

using namespace mlir;
using namespace mlir::tenon;

int64_t ResidentEpilogue::getBytesOfStates() const {
  return kWarps * frame.geometry.tileN *
         (kStateBytesPerColumn + FragmentStates::kOriginBytesPerColumn);
}

/// Those of which the reduced is computed: as many as there is memory for,
/// after the states of a warpgroup's warps and their origins.
void ResidentEpilogue::chooseStaged() {
  if (affine) // no element depends on operands
    return;
  const TileGeometry &geometry = frame.geometry;
  int64_t room =
      getWarpgroupEpilogueBytes(geometry.schedule) - getBytesOfStates();
  for (BlockArgument operand : plan.getPhases().front().operands)
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
