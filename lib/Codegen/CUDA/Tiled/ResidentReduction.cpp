//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits a reduction along M between main loop and epilogue.
//
//===----------------------------------------------------------------------===//

#include "ResidentReduction.h"

#include "ReducedInput.h"

using namespace mlir;
using namespace mlir::tenon;

ResidentReduction::ResidentReduction(TiledFrame &frame, TiledLinearOp op)
    : frame(frame), b(frame.b), op(op), plan(*EpiloguePlan::get(*op.getBody())),
      reduction(plan.getPhases().front().reduction),
      affine(AffineInput::find(op, reduction)), exchange(frame, reduction),
      finished(frame, reduction) {}

bool ResidentReduction::isColumnOperand(BlockArgument operand) {
  Type type = operand.getType();
  return EpiloguePlan::variesByColumn(type) && !EpiloguePlan::variesByRow(type);
}

void ResidentReduction::prefetch(const WorkItem &item) {
  constexpr int64_t lineBytes = 128;
  const TileGeometry &geometry = frame.geometry;
  for (BlockArgument operand : op.getBody()->getArguments()) {
    if (!isColumnOperand(operand))
      continue;
    int64_t bytes =
        getElementTypeOrSelf(operand.getType()).getIntOrFloatBitWidth() / 8;
    // One more line, where the first does not begin with the tile.
    int64_t lines = llvm::divideCeil(geometry.tileN * bytes, lineBytes) + 1;
    frame.emitIf(b.less(frame.thread, lines), [&] {
      Value inTile = b.min(b.mul(frame.thread, lineBytes / bytes),
                           b.i32(geometry.tileN - 1));
      Value column = b.min(b.add(item.column, inTile), b.i32(geometry.n - 1));
      b.ptx(
          "prefetch.global.L2 [$0];", "l",
          b.offset(frame.operands.at(operand), b.mul(b.toI64(column), bytes)));
    });
  }
}

//===----------------------------------------------------------------------===//
// Within the tile
//===----------------------------------------------------------------------===//

SmallVector<Value> ResidentReduction::computeReduced(
    const WorkItem &item, ValueRange accumulators,
    llvm::function_ref<void(ElementEmitter &, int64_t)> setKnown) {
  if (affine || reduction.getReducedInput() == op.getAccumulator())
    return SmallVector<Value>(accumulators);
  return emitReducedInput(frame, op, plan.getPhases().front(), item,
                          accumulators, setKnown);
}

void ResidentReduction::storeWarpStates(const WorkItem &item,
                                        ValueRange elements) {
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
Value ResidentReduction::countRows(const WorkItem &item, int64_t warp) {
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
ReductionState ResidentReduction::combineWarps(const WorkItem &item,
                                               Value inTile) {
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
void ResidentReduction::emitForColumns(llvm::function_ref<void(Value)> body) {
  int64_t columns = frame.geometry.tileN, threads = frame.geometry.threads();
  for (int64_t first = 0; first < columns; first += threads) {
    Value inTile = b.add(frame.thread, first);
    if (first + threads <= columns)
      body(inTile);
    else
      frame.emitIf(b.less(inTile, columns), [&] { body(inTile); });
  }
}

void ResidentReduction::publish(const WorkItem &item, Value turn) {
  emitForColumns([&](Value inTile) {
    exchange.store(turn, inTile, combineWarps(item, inTile));
  });
}

void ResidentReduction::finish(const WorkItem &item, Value turn) {
  emitForColumns([&](Value inTile) { finishColumn(item, turn, inTile); });
}

SmallVector<Value> ResidentReduction::loadColumnOperands(Value column) {
  ElementEmitter emitter(b, frame.operands, column, /*lanes=*/1);
  if (affine)
    affine->load(b, emitter);
  return llvm::map_to_vector(reduction.getColumnOperands(), [&](Value operand) {
    return castFloat(b, emitter.get(operand, 0, 0), b.getF32Type());
  });
}

/// Ends the reduction of a column.
void ResidentReduction::finishColumn(const WorkItem &item, Value turn,
                                     Value inTile) {
  Value column = b.add(item.column, inTile);
  Value inRange = b.less(column, frame.geometry.n);
  column = b.toI64(b.min(column, b.i32(frame.geometry.n - 1)));
  // On their way while the other blocks' states are.
  SmallVector<Value> operands = loadColumnOperands(column);
  ReductionState state = exchange.combine(turn, inTile);
  SmallVector<Value> reduced =
      reduction.emitMove(b, b.getLoc(), state.scalars, state.origin);
  state.scalars = reduced;
  if (affine)
    state.scalars = affine->mapState(b, reduced);
  SmallVector<Value> scalars =
      reduction.emitFinish(b, b.getLoc(), state.count, state.scalars, operands);
  if (affine)
    affine->adapt(b, reduced, state.scalars, scalars);
  finished.store(inTile, scalars);
  if (llvm::any_of(reduction.getColumnResults(),
                   [](Value result) { return !result.use_empty(); }))
    frame.emitIf(b.both(b.equal(item.row, 0), inRange),
                 [&] { storeResults(column, state, operands); });
}

/// Stores what comes of a column. The block of the first rows does, it alone:
/// an output may be the buffer of an operand. The others load such an operand
/// too, and do not use it.
void ResidentReduction::storeResults(Value column, const ReductionState &state,
                                     ArrayRef<Value> operands) {
  SmallVector<Value> scalars = reduction.emitColumnResults(
      b, b.getLoc(), state.count, state.scalars, operands);
  ResultRange results = reduction.getColumnResults();
  for (auto [value, output] :
       llvm::zip(op.getYield().getValues(), frame.outputs))
    if (auto found = llvm::find(results, value); found != results.end())
      storeLanes(b, output, column, getElementTypeOrSelf(value.getType()),
                 scalars[found - results.begin()]);
}
