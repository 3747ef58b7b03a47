//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits the exchange of states through global memory.
//
//===----------------------------------------------------------------------===//

#include "PanelExchange.h"

#include "Codegen/CUDA/Emit/SplitSum.h"
#include "RoundingRest.h"

using namespace mlir;
using namespace mlir::tenon;

/// A finisher's registers are few: with four it would spill.
PanelExchange::PanelExchange(TiledFrame &frame, ReductionEpilogueOp reduction,
                             bool hasFinisher)
    : hasFinisher(hasFinisher), memory(frame), end(frame, memory, hasFinisher),
      frame(frame), b(frame.b), reduction(reduction),
      batch(hasFinisher ? 3 : 8),
      isStatic(!ShapedType::isDynamic(frame.geometry.m)) {
  if (!isStatic)
    return;
  fullTiles = frame.geometry.m / frame.geometry.tileM;
  restRows = frame.geometry.m % frame.geometry.tileM;
}

void PanelExchange::store(Value turn, Value inTile,
                          const ReductionState &state) {
  PanelMemory::Tags tags = memory.getTags(turn);
  SmallVector<Value> numbers =
      reduction.emitMove(b, b.getLoc(), state.scalars, state.origin);
  auto [mean, rest] =
      emitSplitSum(b, state.origin, reduction.getOrigin(state.scalars));
  Value second = b.bitOr(tags.second, encodeRest(b, mean, rest));
  memory.store(memory.getState(turn, memory.getOwnBlock(), inTile),
               {memory.tagNumber(numbers[0], tags.first),
                memory.tagNumber(numbers[1], second)});
}

static Value getNumber(KernelBuilder &b, Value bits) {
  return arith::BitcastOp::create(b, b.getF32Type(), bits);
}

/// Combines `count` tiles from number `first` on, of `getRows` rows each. Where
/// M is dynamic there may be fewer: then others are empty, and wait for the
/// last one's state.
ReductionState
PanelExchange::loadTiles(Value turn, Value inTile, Value first, int64_t count,
                         llvm::function_ref<Value(int64_t)> getRows) {
  int64_t stride =
      frame.geometry.clusterN * frame.geometry.tileN * kTaggedStateBytes;
  Value place = memory.getState(turn, memory.getBlock(first), inTile), after;
  if (!isStatic)
    after = b.sub(b.sub(b.ceilDiv(frame.m, frame.geometry.tileM), 1), first);
  SmallVector<Value> words =
      memory.poll(memory.getTags(turn), count, [&](int64_t i) -> Value {
        if (isStatic || i == 0)
          return b.offset(place, i * stride);
        return b.offset(place, b.mul(b.min(after, b.i32(i)), stride));
      });
  SmallVector<ReductionState> states;
  for (int64_t i = 0; i != count; ++i) {
    ReductionState &state = states.emplace_back();
    state.count = getRows(i);
    Value first = words[i * PanelMemory::kWords],
          second = words[i * PanelMemory::kWords + 1];
    state.origin = getNumber(b, memory.getLowHalf(first));
    state.scalars = {decodeRest(b, state.origin, memory.getHighHalf(second)),
                     getNumber(b, memory.getLowHalf(second))};
    for (Value &scalar : state.scalars)
      if (!isStatic && i != 0)
        scalar = b.select(b.less(after, i), b.f32(0), scalar);
  }
  return combineAll(b, reduction, states);
}

/// Of `rows` rows each, or as many as M has left.
ReductionState PanelExchange::loadBatches(Value turn, Value inTile, Value end,
                                          int64_t rows) {
  SmallVector<Value> initial{b.f32(0), b.f32(0)};
  llvm::append_range(initial,
                     reduction.emitInit(b, b.getLoc(), b.getF32Type()));
  if (hasFinisher) // LLVM would unroll two iterations, for too few registers
    end = b.readAnew(end);
  auto loop = scf::ForOp::create(b, b.i32(0), end, b.i32(batch), initial);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  ValueRange carried = loop.getRegionIterArgs();
  ReductionState before{carried[0], carried.drop_front(2), carried[1]};
  Value first = loop.getInductionVar();
  ReductionState loaded =
      loadTiles(turn, inTile, first, batch, [&](int64_t i) -> Value {
        if (isStatic)
          return b.f32(rows);
        Value left = b.sub(frame.m, b.mul(b.add(first, i), rows));
        left = b.minSigned(b.maxSigned(left, b.i32(0)), b.i32(rows));
        return arith::UIToFPOp::create(b, b.getF32Type(), left);
      });
  // The first batch comes after no rows, which have no origin.
  loaded = combineAll(b, reduction, {loaded, before});
  SmallVector<Value> next{loaded.count, loaded.origin};
  llvm::append_range(next, loaded.scalars);
  scf::YieldOp::create(b, next);
  return {loop.getResult(0), loop.getResults().drop_front(2),
          loop.getResult(1)};
}

/// Batch by batch.
ReductionState PanelExchange::loadFullTiles(Value turn, Value inTile) {
  int64_t rows = frame.geometry.tileM, batches = fullTiles / batch;
  auto load = [&](int64_t first, int64_t count) {
    return loadTiles(turn, inTile, b.i32(first), count,
                     [&](int64_t) { return b.f32(rows); });
  };
  int64_t together = hasFinisher ? batch : 2 * batch - 1;
  if (fullTiles <= together)
    return load(0, fullTiles);
  ReductionState state =
      loadBatches(turn, inTile, b.i32(batches * batch), rows);
  state.count = b.f32(batches * batch * rows);
  if (int64_t rest = fullTiles % batch)
    state = combineAll(b, reduction, {state, load(batches * batch, rest)});
  return state;
}

/// Where M is dynamic.
ReductionState PanelExchange::combineAnyTiles(Value turn, Value inTile) {
  int64_t rows = frame.geometry.tileM;
  ReductionState state =
      loadBatches(turn, inTile, b.ceilDiv(frame.m, rows), rows);
  state.count = arith::UIToFPOp::create(b, b.getF32Type(), frame.m);
  return state;
}

ReductionState PanelExchange::combine(Value turn, Value inTile) {
  if (!isStatic)
    return combineAnyTiles(turn, inTile);
  SmallVector<ReductionState> parts;
  if (fullTiles)
    parts.push_back(loadFullTiles(turn, inTile));
  if (restRows)
    parts.push_back(loadTiles(turn, inTile, b.i32(fullTiles), 1,
                              [&](int64_t) { return b.f32(restRows); }));
  return combineAll(b, reduction, parts);
}
