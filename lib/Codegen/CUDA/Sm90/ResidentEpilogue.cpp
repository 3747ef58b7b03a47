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

#include "ResidentEpilogue.h"

using namespace mlir;
using namespace mlir::tenon;

/// A thread's elements of a block of 8 columns: two rows of two.
static constexpr int64_t kRows = 2, kLanes = 2, kElements = kRows * kLanes;
/// Bytes of registers for operands with rows that are loaded ahead.
static constexpr int64_t kBytesAhead = 64;

ResidentEpilogue::ResidentEpilogue(TiledFrame &frame, TiledLinearOp op,
                                   TmaEpilogue &tma)
    : frame(frame), b(frame.b), op(op), tma(tma),
      plan(*EpiloguePlan::get(*op.getBody())),
      reduction(plan.getPhases().front().reduction),
      affine(AffineInput::find(op, reduction)), exchange(frame, reduction),
      finished(frame, reduction) {
  tma.setFinished(finished);
  chooseStaged();
}

//===----------------------------------------------------------------------===//
// What is reduced
//===----------------------------------------------------------------------===//

/// The operands of 16 rows of the warp, in 8 columns.
std::unique_ptr<ElementEmitter>
ResidentEpilogue::loadBlock(const WorkItem &item, int64_t number) {
  const TileGeometry &geometry = frame.geometry;
  int64_t blocks = geometry.tileN / 8, block = number % blocks;
  Value column = b.add(item.column, b.shiftLeft(b.bitAnd(frame.lane, 3), 1));
  column = b.add(column, 8 * block);
  if (geometry.hasRaggedColumns())
    column = b.min(column, b.i32(geometry.n - kLanes));
  auto emitter = std::make_unique<ElementEmitter>(b, frame.operands,
                                                  b.toI64(column), kLanes);
  setStaged(*emitter, block);
  emitter->emitRowInvariant(plan.getPhases().front());
  Value first =
      b.add(b.add(item.row, frame.warpRow),
            b.add(b.shiftRight(frame.lane, 2), 64 * (number / blocks)));
  SmallVector<Value> rows;
  for (int64_t i = 0; i != kRows; ++i)
    rows.push_back(b.toI64(b.min(b.add(first, 8 * i), b.i32(geometry.m - 1))));
  SmallVector<BlockArgument> loaded(plan.getPhases().front().operands);
  llvm::erase(loaded, op.getAccumulator());
  emitter->beginRows(rows, loaded);
  return emitter;
}

/// Blocks whose operands are loaded before one is computed.
int64_t ResidentEpilogue::getBlocksAhead() {
  int64_t bytes = 0;
  for (BlockArgument operand : plan.getPhases().front().operands)
    if (operand != op.getAccumulator() &&
        EpiloguePlan::variesByRow(operand.getType()))
      bytes += kElements *
               getElementTypeOrSelf(operand.getType()).getIntOrFloatBitWidth() /
               8;
  return bytes == 0 ? 1 : std::max<int64_t>(2, kBytesAhead / bytes);
}

/// Turns accumulators into what is reduced of them. Loads of operands with rows
/// are on their way a few blocks ahead.
SmallVector<Value> ResidentEpilogue::computeReduced(const WorkItem &item,
                                                    ValueRange accumulators) {
  SmallVector<Value> elements(accumulators);
  Value input = reduction.getReducedInput();
  if (input == op.getAccumulator() || affine)
    return elements;
  int64_t count = frame.geometry.warpM() / 16 * frame.geometry.tileN / 8;
  int64_t ahead = getBlocksAhead();
  SmallVector<std::unique_ptr<ElementEmitter>> emitters;
  for (int64_t number = 0; number != count; ++number) {
    while (static_cast<int64_t>(emitters.size()) <
           std::min(number + ahead, count))
      emitters.push_back(loadBlock(item, emitters.size()));
    std::unique_ptr<ElementEmitter> emitter = std::move(emitters[number]);
    auto own = MutableArrayRef(elements).slice(number * kElements, kElements);
    for (int64_t i = 0; i != kElements; ++i)
      emitter->set(op.getAccumulator(), i / kLanes, i % kLanes, own[i]);
    for (int64_t i = 0; i != kElements; ++i)
      own[i] = emitter->get(input, i / kLanes, i % kLanes);
  }
  return elements;
}

//===----------------------------------------------------------------------===//
// Within the tile
//===----------------------------------------------------------------------===//

/// A state of each warp and column lies in the epilogue memory of the warp's
/// warpgroup, which waits for nothing at that time.
Value ResidentEpilogue::getWarpState(Value warpgroup, Value warp,
                                     Value inTile) {
  Value place = b.add(b.mul(warp, frame.geometry.tileN), inTile);
  return b.offset(getWarpgroupMemory(warpgroup),
                  b.mul(place, kStateBytesPerColumn));
}

/// The origins of a warp's states lie behind the states of all.
Value ResidentEpilogue::getOrigins(Value warpgroup, Value warp) {
  int64_t tileN = frame.geometry.tileN;
  Value memory = b.offset(getWarpgroupMemory(warpgroup),
                          kWarps * tileN * kStateBytesPerColumn);
  return b.offset(memory,
                  b.mul(warp, tileN * FragmentStates::kOriginBytesPerColumn));
}

void ResidentEpilogue::storeWarpStates(const WorkItem &item,
                                       ValueRange elements) {
  Value warpgroup = b.sub(frame.warpgroup, 1), warp = b.bitAnd(frame.warp, 3);
  FragmentStates states(frame, reduction, item, getOrigins(warpgroup, warp));
  states.storeOrigins(elements);
  Value column = states.getColumn();
  constexpr int64_t each = FragmentStates::kColumns;
  for (int64_t group = 0; group != frame.geometry.tileN / each; ++group) {
    ReductionState state = states.reduce(elements, group);
    Value place = getWarpState(warpgroup, warp, b.add(column, group * each));
    for (auto [index, scalar] : llvm::enumerate(state.scalars))
      LLVM::StoreOp::create(b, scalar, b.offset(place, 4 * index),
                            /*alignment=*/4);
  }
}

/// How many of a warp's rows exist: of each 64 rows of its warpgroup, 16.
static Value countRows(TiledFrame &frame, const WorkItem &item,
                       int64_t firstRow) {
  KernelBuilder &b = frame.b;
  const TileGeometry &geometry = frame.geometry;
  if (!geometry.hasRaggedRows())
    return b.f32(geometry.warpM());
  Value count = b.i32(0);
  for (int64_t row = 0; row != geometry.warpM() / 16; ++row) {
    Value left = b.sub(frame.m, b.add(item.row, firstRow + 64 * row));
    count = b.add(count, b.minSigned(b.maxSigned(left, b.i32(0)), b.i32(16)));
  }
  return arith::UIToFPOp::create(b, b.getF32Type(), count);
}

/// The tile's state of a column.
ReductionState ResidentEpilogue::combineWarps(const WorkItem &item,
                                              Value inTile) {
  const TileGeometry &geometry = frame.geometry;
  int64_t rowsOfWarpgroup = geometry.warpM() * kWarps;
  SmallVector<ReductionState> states;
  for (int64_t warp = 0; warp != geometry.warpsM; ++warp) {
    Value place =
        getWarpState(b.i32(warp / kWarps), b.i32(warp % kWarps), inTile);
    ReductionState &state = states.emplace_back();
    state.count = countRows(
        frame, item, warp / kWarps * rowsOfWarpgroup + warp % kWarps * 16);
    for (int64_t byte = 0; byte != kStateBytesPerColumn; byte += 4)
      state.scalars.push_back(LLVM::LoadOp::create(
          b, b.getF32Type(), b.offset(place, byte), /*alignment=*/4));
  }
  return combineAll(b, reduction, states);
}

//===----------------------------------------------------------------------===//
// Columns
//===----------------------------------------------------------------------===//

/// Emits `body` for the columns of the tile, each in one thread.
void ResidentEpilogue::emitForColumns(llvm::function_ref<void(Value)> body) {
  int64_t columns = frame.geometry.tileN, threads = frame.geometry.threads();
  for (int64_t first = 0; first < columns; first += threads) {
    Value inTile = b.add(frame.thread, first);
    if (first + threads <= columns)
      body(inTile);
    else
      frame.emitIf(b.less(inTile, columns), [&] { body(inTile); });
  }
}

SmallVector<Value> ResidentEpilogue::loadColumnOperands(Value column) {
  ElementEmitter emitter(b, frame.operands, column, /*lanes=*/1);
  if (affine)
    affine->load(b, emitter);
  return llvm::map_to_vector(reduction.getColumnOperands(), [&](Value operand) {
    return castFloat(b, emitter.get(operand, 0, 0), b.getF32Type());
  });
}

/// Ends the reduction of a column.
void ResidentEpilogue::finishColumn(const WorkItem &item, Value turn,
                                    Value inTile) {
  Value column = b.add(item.column, inTile);
  Value inRange = b.less(column, frame.geometry.n);
  column = b.toI64(b.min(column, b.i32(frame.geometry.n - 1)));
  // On their way while the other blocks' states are.
  SmallVector<Value> operands = loadColumnOperands(column);
  ReductionState state = exchange.combine(turn, inTile);
  SmallVector<Value> reduced = state.scalars;
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
void ResidentEpilogue::storeResults(Value column, const ReductionState &state,
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

void ResidentEpilogue::emit(const WorkItem &item, Value turn, Value turns,
                            ValueRange accumulators) {
  tma.copies.waitForBuffers();
  storeStaged();
  SmallVector<Value> elements = computeReduced(item, accumulators);
  storeWarpStates(item, elements);
  frame.barrier();
  frame.computePlace();
  emitForColumns([&](Value inTile) {
    exchange.store(turn, inTile, combineWarps(item, inTile).scalars);
  });
  if (!tma.copies.subtiles.operands.empty()) {
    // TMA is to write operands where the states of warps are.
    b.ptx("fence.proxy.async.shared::cta;", "~{memory}", {});
    frame.barrier();
    tma.copies.loadFirst(item);
  }
  // More loads that are on their way while the other blocks' states are. Where
  // elements were computed, kernels spilled with them.
  if (affine)
    tma.prepare(item);
  emitForColumns([&](Value inTile) { finishColumn(item, turn, inTile); });
  frame.emitIf(b.equal(b.add(turn, 1), turns), [&] { exchange.arriveAtEnd(); });
  frame.barrier();
  frame.computePlace();
  if (!affine)
    tma.prepare(item);
  tma.emit(item, elements);
}
