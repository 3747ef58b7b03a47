//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits a reduction along M of elements that warps have rows of.
//
//===----------------------------------------------------------------------===//

#include "ResidentWarps.h"

#include "FragmentStates.h"
#include "ReducedInput.h"

using namespace mlir;
using namespace mlir::tenon;

//===----------------------------------------------------------------------===//
// Within the tile
//===----------------------------------------------------------------------===//

SmallVector<Value> ResidentWarps::computeReduced(
    const WorkItem &item, ValueRange accumulators,
    llvm::function_ref<void(ElementEmitter &, int64_t)> setKnown) {
  if (reduced == op.getAccumulator())
    return SmallVector<Value>(accumulators);
  return emitReducedInput(frame, op, before, reduced, item, accumulators,
                          setKnown);
}

void ResidentWarps::storeWarpStates(const WorkItem &item, ValueRange elements) {
  WarpMemory memory = getOwnMemory();
  FragmentStates states(frame, reduction, item, memory.origins);
  states.storeOrigins(elements);
  Value column = states.getColumn();
  constexpr int64_t each = FragmentStates::kColumns;
  for (int64_t group = 0; group != frame.geometry.warpN() / each; ++group) {
    SmallVector<Value> state = states.reduce(elements, group);
    Value place = b.offset(memory.states, b.mul(b.add(column, group * each),
                                                kStateBytesPerColumn));
    for (auto [index, scalar] : llvm::enumerate(state))
      LLVM::StoreOp::create(b, scalar, b.offset(place, 4 * index),
                            /*alignment=*/4);
  }
}

/// How many rows of the `warp`-th warp along M exist.
Value ResidentWarps::countRows(const WorkItem &item, int64_t warp) {
  const TileGeometry &geometry = frame.geometry;
  if (!geometry.hasRaggedRows())
    return b.f32(geometry.warpM());
  int64_t first = geometry.getFirstRow(warp);
  Value count = b.i32(0);
  for (int64_t row = 0; row != geometry.warpM() / 16; ++row) {
    Value left = b.sub(
        frame.m, b.add(item.row, first + geometry.rowBlockStride() * row));
    count = b.add(count, b.minSigned(b.maxSigned(left, b.i32(0)), b.i32(16)));
  }
  return arith::UIToFPOp::create(b, b.getF32Type(), count);
}

/// The tile's state of a column.
ReductionState ResidentWarps::combineWarps(const WorkItem &item, Value inTile) {
  const TileGeometry &geometry = frame.geometry;
  Value part = b.i32(0), inPart = inTile;
  if (geometry.warpsN != 1) {
    part = b.div(inTile, geometry.warpN());
    inPart = b.rem(inTile, geometry.warpN());
  }
  auto load = [&](Value place) -> Value {
    return LLVM::LoadOp::create(b, b.getF32Type(), place, /*alignment=*/4);
  };
  SmallVector<ReductionState> states;
  for (int64_t warp = 0; warp != geometry.warpsM; ++warp) {
    WarpMemory memory = getMemory(warp, part);
    ReductionState &state = states.emplace_back();
    state.count = countRows(item, warp);
    Value place = b.offset(memory.states, b.mul(inPart, kStateBytesPerColumn));
    for (int64_t byte = 0; byte != kStateBytesPerColumn; byte += 4)
      state.scalars.push_back(load(b.offset(place, byte)));
    state.origin = load(b.offset(
        memory.origins, b.mul(inPart, FragmentStates::kOriginBytesPerColumn)));
  }
  return combineAll(b, reduction, states);
}

//===----------------------------------------------------------------------===//
// Columns
//===----------------------------------------------------------------------===//

/// Emits `body` for the columns of the tile, each in one thread.
void ResidentWarps::emitForColumns(llvm::function_ref<void(Value)> body) {
  int64_t columns = frame.geometry.tileN, threads = frame.geometry.threads();
  for (int64_t first = 0; first < columns; first += threads) {
    Value inTile = b.add(frame.thread, first);
    if (first + threads <= columns)
      body(inTile);
    else
      frame.emitIf(b.less(inTile, columns), [&] { body(inTile); });
  }
}

void ResidentWarps::publish(const WorkItem &item, Value turn) {
  emitForColumns([&](Value inTile) {
    exchange.store(turn, inTile, combineWarps(item, inTile));
  });
}

void ResidentWarps::finish(const WorkItem &item, Value turn) {
  emitIfRows(item, [&] {
    emitForColumns([&](Value inTile) { finishColumn(item, turn, inTile); });
  });
}
