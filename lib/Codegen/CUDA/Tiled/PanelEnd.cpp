//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits what clears tags and flags after the last exchange.
//
//===----------------------------------------------------------------------===//

#include "PanelEnd.h"

using namespace mlir;
using namespace mlir::tenon;

/// Of the threads that multiply and the warp that clears.
static std::string getBesideBarrier(const TileGeometry &geometry) {
  bool pingPong = geometry.schedule.getPingPong();
  int64_t threads = geometry.threads() * (pingPong ? 2 : 1) + 32;
  return " " +
         std::to_string(pingPong ? kPingPongPanelBarrier : kPanelBarrier) +
         ", " + std::to_string(threads) + ";";
}

void PanelEnd::arrive() {
  b.ptx("bar.arrive" + getBesideBarrier(frame.geometry), "~{memory}", {});
}

void PanelEnd::wait() {
  b.ptx("bar.sync" + getBesideBarrier(frame.geometry), "~{memory}", {});
}

/// Emits `body` for each block of the panel, in a lane of the warp.
void PanelEnd::emitForBlocks(llvm::function_ref<void(Value)> body) {
  auto emit = [&](Value first) {
    Value rowTile = b.add(frame.lane, first);
    frame.emitIf(b.less(rowTile, memory.getBlocks()),
                 [&] { body(memory.getBlock(rowTile)); });
  };
  const TileGeometry &geometry = frame.geometry;
  if (geometry.hasResidentRows() || !ShapedType::isDynamic(geometry.m)) {
    int64_t blocks = geometry.hasResidentRows()
                         ? geometry.teamUnits() * geometry.clusterN
                         : geometry.rowUnits() * geometry.clusterM;
    for (int64_t first = 0; first < blocks; first += 32)
      emit(b.i32(first));
    return;
  }
  auto loop = scf::ForOp::create(b, b.i32(0), memory.getBlocks(), b.i32(32));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  emit(loop.getInductionVar());
}

void PanelEnd::waitForFlags(Value expected) {
  emitForBlocks([&](Value block) {
    b.ptx("{ .reg .pred p; .reg .b64 seen; .reg .b32 tries; "
          "mov.b32 tries, 0; "
          "again: ld.relaxed.gpu.global.b64 seen, [$0]; "
          "setp.eq.b64 p, seen, $1; @p bra done; "
          "add.s32 tries, tries, 1; "
          "setp.lt.u32 p, tries, " +
              std::to_string(PanelMemory::kMaxTries) +
              "; @p bra again; "
              "trap; "
              "done: }",
          "l,l,~{memory}", {memory.getFlag(block), expected});
  });
}

/// What `getPlace` gives of each of the tile's columns or rows, of all turns
/// that lie side by side.
void PanelEnd::clearTile(llvm::function_ref<Value(Value, Value)> getPlace) {
  auto type = VectorType::get(PanelMemory::kWords, b.getI64Type());
  Value zeros = arith::ConstantOp::create(b, b.getZeroAttr(type));
  int64_t turns = getExchangedTurns(frame.geometry.schedule);
  for (int64_t turn = 0; turn != turns; ++turn)
    for (int64_t first = 0; first < memory.getExtent(); first += 32)
      LLVM::StoreOp::create(b, zeros,
                            getPlace(b.i32(turn), b.add(frame.lane, first)),
                            /*alignment=*/kTaggedStateBytes);
}

void PanelEnd::clearStates() {
  auto loop = scf::ForOp::create(b, b.i32(0), memory.getBlocks(), b.i32(1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value block = memory.getBlock(loop.getInductionVar());
  clearTile([&](Value turn, Value inTile) {
    return memory.getState(turn, block, inTile);
  });
}

/// A block's flag, token + turns, says that it has read all states. What makes
/// it so are its threads' loads, whose values they have used: no fence either.
static Value getReadFlag(TiledFrame &frame, Value turns) {
  return frame.b.add(frame.token, frame.b.toI64(turns));
}

void PanelEnd::announce(Value turns) {
  b.ptx("st.relaxed.gpu.global.b64 [$0], $1;", "l,l,~{memory}",
        {memory.getFlag(memory.getOwnBlock()), getReadFlag(frame, turns)});
}

void PanelEnd::clearWhenRead(Value turns) {
  frame.emitIf(memory.isFirstBlock(), [&] {
    waitForFlags(getReadFlag(frame, turns));
    frame.syncWarp();
    clearStates();
    if (hasFinisher)
      clearTile([&](Value turn, Value inTile) {
        return memory.getPublishedPlace(turn, inTile);
      });
    emitForBlocks([&](Value block) {
      LLVM::StoreOp::create(b, b.i64(0), memory.getFlag(block),
                            /*alignment=*/8);
    });
  });
}

void PanelEnd::clear(Value turns) {
  frame.emitIf(b.less(b.i32(0), turns), [&] {
    // A finisher, whose warp this is, has read all.
    if (!hasFinisher && frame.geometry.hasOtherWarps())
      wait();
    frame.emitIf(b.equal(frame.lane, 0), [&] { announce(turns); });
    clearWhenRead(turns);
  });
}
