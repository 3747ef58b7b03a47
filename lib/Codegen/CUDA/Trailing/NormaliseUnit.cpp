//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A warp of the finishing kernel normalises some rows of a span of columns.
//
//===----------------------------------------------------------------------===//

#include "FinishFrame.h"

#include "../ReductionEmitter.h"

using namespace mlir;
using namespace mlir::tenon;

namespace {
class RowWalk {
public:
  RowWalk(FinishFrame &frame, Value column)
      : frame(frame), b(frame.b), column(column),
        emitter(b, frame.pointers, column, frame.geometry.lanes) {}

  /// Loads what is the same in all rows.
  void begin(unsigned numScalars);
  /// All rows of a unit.
  void emit(Value first, Value end);

private:
  bool mayHaveRest() const;
  void emitLoop(Value first, Value end, unsigned count);
  void emitRows(Value first, unsigned count);
  void storeRow(ArrayRef<Value> rows, unsigned row);

  FinishFrame &frame;
  KernelBuilder &b;
  Value column;
  ElementEmitter emitter;
};
} // namespace

void RowWalk::begin(unsigned numScalars) {
  unsigned lanes = frame.geometry.lanes;
  SmallVector<SmallVector<Value>> found(lanes);
  for (unsigned index = 0; index != numScalars; ++index)
    for (auto [lane, scalar] : llvm::enumerate(
             loadLanes(b, frame.found, b.add(column, index * frame.geometry.n),
                       getStateType(frame.reduction), lanes)))
      found[lane].push_back(scalar);
  for (auto [lane, scalars] : llvm::enumerate(found))
    emitter.setFinished(frame.reduction, lane, scalars);
  emitter.emitRowInvariant(frame.phase);
}

/// An output may be an input's buffer: rows are loaded before they are stored.
void RowWalk::emitRows(Value first, unsigned count) {
  SmallVector<Value> rows;
  for (unsigned row = 0; row != count; ++row)
    rows.push_back(b.add(first, row));
  emitter.beginRows(rows, frame.phase.operands);
  for (unsigned row = 0; row != count; ++row)
    storeRow(rows, row);
}

void RowWalk::storeRow(ArrayRef<Value> rows, unsigned row) {
  for (auto [value, output] :
       llvm::zip(frame.op.getYield().getValues(), frame.outputs)) {
    if (isColumnResult(value))
      continue;
    SmallVector<Value> elements;
    for (unsigned lane = 0; lane != frame.geometry.lanes; ++lane)
      elements.push_back(emitter.get(value, row, lane));
    storeLanes(b, output, getOffset(b, value.getType(), rows[row], column),
               getElementTypeOrSelf(value.getType()), elements);
  }
}

void RowWalk::emitLoop(Value first, Value end, unsigned count) {
  auto loop = scf::ForOp::create(b, first, end, b.i64(count));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  emitRows(loop.getInductionVar(), count);
}

/// Whether a unit's rows may be no multiple of those that are loaded together.
bool RowWalk::mayHaveRest() const {
  ReductionEpilogueOp reduction = frame.reduction;
  int64_t m = cast<RankedTensorType>(reduction.getReducedInput().getType())
                  .getDimSize(0);
  return ShapedType::isDynamic(m) || m % frame.geometry.rows != 0;
}

void RowWalk::emit(Value first, Value end) {
  int64_t each = frame.geometry.rows;
  if (!mayHaveRest())
    return emitLoop(first, end, each);
  Value count = b.sub(end, first);
  Value whole = b.add(first, b.sub(count, b.rem(count, each)));
  emitLoop(first, whole, each);
  emitLoop(whole, end, 1);
}

/// Waits until all units that combine columns of the span have.
static void waitForColumns(FinishFrame &frame, Value span) {
  KernelBuilder &b = frame.b;
  Value left =
      b.sub(b.i32(frame.geometry.n), b.mul(span, frame.layout.spanColumns));
  Value columns = b.min(left, b.i32(frame.layout.spanColumns));
  frame.progress.waitForCounter(span, b.div(columns, CombineUnit::kColumns));
}

static void emitSpan(FinishFrame &frame, Value span, Value number,
                     unsigned numScalars) {
  KernelBuilder &b = frame.b;
  waitForColumns(frame, span);
  Value units = b.ceilDiv(frame.rows, NormaliseUnit::kRows);
  Value first =
      b.toI64(b.mul(b.sub(b.sub(units, 1), number), NormaliseUnit::kRows));
  Value end = b.minSigned(b.add(first, NormaliseUnit::kRows), frame.m);
  Value column = b.toI64(b.add(b.mul(span, frame.layout.spanColumns),
                               b.mul(frame.threadX, frame.geometry.lanes)));
  frame.emitIf(b.less(column, frame.geometry.n), [&] {
    RowWalk walk(frame, column);
    walk.begin(numScalars);
    walk.emit(first, end);
  });
}

void NormaliseUnit::emit(FinishFrame &frame, Value span, Value number,
                         unsigned numScalars) {
  // The last group may lack spans.
  frame.emitIf(frame.b.less(span, frame.layout.numSpans()),
               [&] { emitSpan(frame, span, number, numScalars); });
}
