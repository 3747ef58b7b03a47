//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits what ends the reduction of a column.
//
//===----------------------------------------------------------------------===//

#include "ResidentReduction.h"

using namespace mlir;
using namespace mlir::tenon;

ResidentReduction::ResidentReduction(TiledFrame &frame, TiledLinearOp op,
                                     bool hasFinisher)
    : frame(frame), b(frame.b), op(op), plan(*EpiloguePlan::get(*op.getBody())),
      reduction(plan.getPhases().front().reduction),
      affine(AffineInput::find(op, reduction)),
      reduced(affine ? affine->getSource() : reduction.getReducedInput()),
      before(EpiloguePlan::getPhase(*op.getBody(), reduced)),
      exchange(frame, reduction, hasFinisher),
      finished(frame, reduction, reduced) {}

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

SmallVector<Value> ResidentReduction::loadColumnOperands(Value column) {
  ElementEmitter emitter(b, frame.operands, column, /*lanes=*/1);
  if (affine)
    affine->load(b, emitter);
  return llvm::map_to_vector(reduction.getColumnOperands(), [&](Value operand) {
    return castFloat(b, emitter.get(operand, 0, 0), b.getF32Type());
  });
}

void ResidentReduction::emitIfRows(const WorkItem &item,
                                   llvm::function_ref<void()> body) {
  if (frame.geometry.clusterM == 1 || !frame.geometry.hasRaggedRows())
    return body();
  frame.emitIf(b.less(item.row, frame.m), body);
}

void ResidentReduction::finishColumn(
    const WorkItem &item, Value turn, Value inTile, Value stores,
    llvm::function_ref<void(ArrayRef<Value>)> keep) {
  Value column = b.add(item.column, inTile);
  Value inRange = b.less(column, frame.geometry.n);
  column = b.toI64(b.min(column, b.i32(frame.geometry.n - 1)));
  // On their way while the other blocks' states are; but a finisher has time,
  // and few registers.
  SmallVector<Value> operands;
  if (!exchange.hasFinisher)
    operands = loadColumnOperands(column);
  ReductionState state = exchange.combine(turn, inTile);
  if (exchange.hasFinisher)
    operands = loadColumnOperands(column);
  SmallVector<Value> reduced =
      reduction.emitMove(b, b.getLoc(), state.scalars, state.origin);
  state.scalars = reduced;
  if (affine)
    state.scalars = affine->mapState(b, reduced);
  SmallVector<Value> scalars =
      reduction.emitFinish(b, b.getLoc(), state.count, state.scalars, operands);
  if (affine)
    affine->adapt(b, reduced, state.scalars, scalars);
  keep(finished.getKept(scalars));
  if (llvm::any_of(reduction.getColumnResults(),
                   [](Value result) { return !result.use_empty(); }))
    frame.emitIf(b.both(stores, inRange),
                 [&] { storeResults(column, state, operands); });
}

void ResidentReduction::finishColumn(const WorkItem &item, Value turn,
                                     Value inTile) {
  Value stores = b.equal(item.row, 0);
  finishColumn(item, turn, inTile, stores,
               [&](ArrayRef<Value> kept) { finished.store(inTile, kept); });
}

/// Stores what comes of a column. One block does, it alone: an output may be
/// the buffer of an operand. Others may load such an operand too, but do not
/// use it.
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
