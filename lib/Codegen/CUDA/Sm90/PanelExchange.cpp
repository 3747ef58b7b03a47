//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits the exchange through global memory.
//
//===----------------------------------------------------------------------===//

#include "PanelExchange.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::tenon;

/// Tiles whose states are loaded together.
static constexpr int64_t kBatch = 8;

PanelExchange::PanelExchange(TiledFrame &frame, ReductionEpilogueOp reduction)
    : frame(frame), b(frame.b), reduction(reduction),
      blocks(frame.geometry.rowUnits() * frame.geometry.clusterM),
      fullTiles(frame.geometry.m / frame.geometry.tileM),
      restRows(frame.geometry.m % frame.geometry.tileM) {}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

/// The number in the grid of the panel's block with a row tile. A panel has
/// `rowUnits` units one after the other, and a cluster's blocks lie along M or
/// along N.
Value PanelExchange::getBlock(Value rowTile) {
  const TileGeometry &geometry = frame.geometry;
  Value unit = b.mul(b.div(frame.unit, geometry.rowUnits()),
                     geometry.rowUnits() * geometry.clusterBlocks());
  Value first = b.add(
      unit, b.mul(b.div(frame.rank, geometry.clusterM), geometry.clusterM));
  return b.add(first, b.mul(rowTile, geometry.clusterN));
}

Value PanelExchange::getFlag(Value block) {
  return b.offset(frame.workspace, b.mul(b.toI64(block), 8));
}

Value PanelExchange::getState(Value turn, Value block, Value inTile) {
  int64_t maxBlocks = getMaxBlocks(frame.geometry.schedule);
  Value place = b.add(b.mul(b.bitAnd(turn, 1), maxBlocks), block);
  place = b.add(b.mul(place, frame.geometry.tileN), inTile);
  return b.offset(b.offset(frame.workspace, 8 * maxBlocks),
                  b.mul(b.toI64(place), kStateBytesPerColumn));
}

//===----------------------------------------------------------------------===//
// Marks
//===----------------------------------------------------------------------===//

void PanelExchange::store(Value turn, Value inTile, ArrayRef<Value> scalars) {
  Value own =
      b.add(b.mul(frame.unit, frame.geometry.clusterBlocks()), frame.rank);
  auto type = VectorType::get(scalars.size(), b.getF32Type());
  LLVM::StoreOp::create(b, vector::FromElementsOp::create(b, type, scalars),
                        getState(turn, own, inTile), kStateBytesPerColumn);
}

void PanelExchange::mark(Value turn) {
  Value own =
      b.add(b.mul(frame.unit, frame.geometry.clusterBlocks()), frame.rank);
  frame.emitIf(b.equal(frame.thread, 0), [&] {
    // Cumulative: after the barrier it covers what the other threads stored.
    b.ptx("fence.acq_rel.gpu; st.relaxed.gpu.global.b64 [$0], $1;",
          "l,l,~{memory}", {getFlag(own), b.add(frame.token, b.toI64(turn))});
  });
}

/// Emits `body` for each block of the panel, in a lane of the first warp.
void PanelExchange::emitForBlocks(llvm::function_ref<void(Value)> body) {
  frame.emitIf(b.less(frame.thread, 32), [&] {
    for (int64_t first = 0; first < blocks; first += 32) {
      Value rowTile = b.add(frame.lane, first);
      auto emit = [&] { body(getBlock(rowTile)); };
      if (first + 32 <= blocks)
        emit();
      else
        frame.emitIf(b.less(rowTile, blocks), emit);
    }
  });
}

/// A block may have marked the next turn already. Blocks that are resident
/// together come within seconds, so that one that waits longer has met a
/// mistake: it stops the kernel rather than the GPU.
void PanelExchange::waitInWarp(Value turn) {
  emitForBlocks([&](Value block) {
    b.ptx("{ .reg .pred p; .reg .b64 seen; .reg .b32 tries; "
          "mov.b32 tries, 0; "
          "again: ld.acquire.gpu.global.b64 seen, [$0]; "
          "sub.s64 seen, seen, $1; "
          "setp.lt.u64 p, seen, 2; @p bra done; "
          "add.s32 tries, tries, 1; "
          "setp.lt.u32 p, tries, 0x2000000; @p bra again; "
          "trap; "
          "done: }",
          "l,l,~{memory}", {getFlag(block), b.add(frame.token, b.toI64(turn))});
  });
}

void PanelExchange::wait(Value turn) {
  waitInWarp(turn);
  frame.barrier();
}

void PanelExchange::finish(Value turns) {
  const TileGeometry &geometry = frame.geometry;
  Value isFirst = b.both(b.equal(b.rem(frame.unit, geometry.rowUnits()), 0),
                         b.equal(b.rem(frame.rank, geometry.clusterM), 0));
  frame.emitIf(b.less(b.i32(0), turns), [&] {
    mark(turns);
    frame.emitIf(isFirst, [&] {
      waitInWarp(turns);
      emitForBlocks([&](Value block) {
        LLVM::StoreOp::create(b, b.i64(0), getFlag(block), /*alignment=*/8);
      });
    });
  });
}

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

/// Combines `count` tiles of `rows` rows each, from number `first` on.
ReductionState PanelExchange::loadTiles(Value turn, Value inTile, Value first,
                                        int64_t count, int64_t rows) {
  constexpr int64_t numScalars = kStateBytesPerColumn / 4;
  auto type = VectorType::get(numScalars, b.getF32Type());
  SmallVector<ReductionState> states;
  for (int64_t i = 0; i != count; ++i) {
    Value place = getState(turn, getBlock(b.add(first, i)), inTile);
    Value loaded = LLVM::LoadOp::create(b, type, place, kStateBytesPerColumn);
    ReductionState &state = states.emplace_back();
    state.count = b.f32(rows);
    for (int64_t scalar = 0; scalar != numScalars; ++scalar)
      state.scalars.push_back(vector::ExtractOp::create(b, loaded, scalar));
  }
  return combineAll(b, reduction, states);
}

/// Batch by batch.
ReductionState PanelExchange::loadFullTiles(Value turn, Value inTile) {
  int64_t rows = frame.geometry.tileM, batches = fullTiles / kBatch;
  if (batches <= 1)
    return loadTiles(turn, inTile, b.i32(0), fullTiles, rows);
  SmallVector<Value> initial{b.f32(0)};
  llvm::append_range(initial,
                     reduction.emitInit(b, b.getLoc(), b.getF32Type()));
  auto loop = scf::ForOp::create(b, b.i32(0), b.i32(batches * kBatch),
                                 b.i32(kBatch), initial);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    ValueRange before = loop.getRegionIterArgs();
    ReductionState batch =
        loadTiles(turn, inTile, loop.getInductionVar(), kBatch, rows);
    batch =
        combineAll(b, reduction,
                   {{before[0], llvm::to_vector(before.drop_front())}, batch});
    SmallVector<Value> next{batch.count};
    llvm::append_range(next, batch.scalars);
    scf::YieldOp::create(b, next);
  }
  ReductionState state{b.f32(batches * kBatch * rows),
                       SmallVector<Value>(loop.getResults().drop_front())};
  if (int64_t rest = fullTiles % kBatch)
    state = combineAll(
        b, reduction,
        {state, loadTiles(turn, inTile, b.i32(batches * kBatch), rest, rows)});
  return state;
}

ReductionState PanelExchange::combine(Value turn, Value inTile) {
  SmallVector<ReductionState> parts;
  if (fullTiles)
    parts.push_back(loadFullTiles(turn, inTile));
  if (restRows)
    parts.push_back(loadTiles(turn, inTile, b.i32(fullTiles), 1, restRows));
  return combineAll(b, reduction, parts);
}
