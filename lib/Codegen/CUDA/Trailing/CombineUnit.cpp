//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A warp of the finishing kernel combines the moments of a few columns.
//
//===----------------------------------------------------------------------===//

#include "FinishFrame.h"

#include "../HeadStates.h"
#include "../ReductionEmitter.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::tenon;

/// Lanes that share a column's moments.
static constexpr int64_t kParts = 32 / CombineUnit::kColumns;
/// Scalars of moments that a lane loads together.
static constexpr int64_t kLoads = 12;

/// The same of the lane whose number differs by `distance`.
static SmallVector<Value> exchange(FinishFrame &frame, ArrayRef<Value> values,
                                   int64_t distance) {
  KernelBuilder &b = frame.b;
  return llvm::map_to_vector(values, [&](Value value) -> Value {
    return NVVM::ShflOp::create(b, value.getType(), b.i32(-1), value,
                                b.i32(distance), b.i32(31),
                                NVVM::ShflKind::bfly, UnitAttr());
  });
}

/// The state of all parts, for the lanes of part 0; as `walked`, count first.
static SmallVector<Value> combineParts(FinishFrame &frame,
                                       SmallVector<Value> walked) {
  for (int64_t distance = 16; distance >= CombineUnit::kColumns;
       distance /= 2) {
    SmallVector<Value> other = exchange(frame, walked, distance);
    SmallVector<Value> state = combineStates(
        frame, frame.reduction, walked[0], ArrayRef(walked).drop_front(),
        other[0], ArrayRef(other).drop_front(), /*width=*/1);
    walked[0] = arith::AddFOp::create(frame.b, walked[0], other[0]);
    llvm::copy(state, walked.begin() + 1);
  }
  return walked;
}

/// Ends the reduction of a column and stores what it leaves.
static unsigned storeFound(FinishFrame &frame, Value column,
                           ArrayRef<Value> state,
                           const SmallVector<Value> &operands) {
  KernelBuilder &b = frame.b;
  SmallVector<Value> found =
      finishColumn(frame, frame.reduction, column,
                   arith::ConstantOp::create(b, b.getBoolAttr(true)), state,
                   getColumnOutputs(frame.op, frame.reduction, frame.outputs),
                   [&] { return operands; });
  for (auto [index, scalar] : llvm::enumerate(found))
    storeLanes(b, frame.found, b.add(column, index * frame.geometry.n),
               getStateType(frame.reduction), scalar);
  return found.size();
}

/// `first` (i32) is the unit's first column.
static unsigned emitColumns(FinishFrame &frame, Value first) {
  KernelBuilder &b = frame.b;
  Value column =
      b.toI64(b.add(first, b.bitAnd(frame.threadX, CombineUnit::kColumns - 1)));
  Value part = b.div(frame.threadX, CombineUnit::kColumns);
  frame.progress.waitForPanel(b.div(first, frame.layout.panelColumns),
                              frame.threadX);
  Value rows = b.i64(ProgressLayout::kFlagRows);
  StateWalk walk{
      frame,         frame.reduction, {frame.finishedStates[0].buffer, rows},
      column,
      /*width=*/1,   b.i64(0),        frame.ceilDiv(frame.m, rows),
      b.toI64(part), kParts};
  walk.batch = kLoads / getStoredSize(frame.reduction);
  SmallVector<Value> walked = walk.emit();
  // On their way while lanes exchange states; no other warp stores to their
  // buffers.
  SmallVector<Value> operands =
      loadColumnOperands(frame, frame.reduction, column);
  SmallVector<Value> all = combineParts(frame, walked);
  unsigned count = 0;
  frame.emitIf(b.equal(part, 0), [&] {
    SmallVector<Value> state = walk.moveBack(ArrayRef(all).drop_front());
    count = storeFound(frame, column, state, operands);
  });
  return count;
}

unsigned CombineUnit::emit(FinishFrame &frame, Value span, Value number) {
  KernelBuilder &b = frame.b;
  Value first =
      b.add(b.mul(span, frame.layout.spanColumns), b.mul(number, kColumns));
  // The last span may be cut, and the last group lack spans.
  unsigned count = 0;
  frame.emitIf(b.less(first, frame.geometry.n), [&] {
    count = emitColumns(frame, first);
    frame.progress.addToCounter(span, frame.threadX);
  });
  return count;
}
