//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Cuts an epilogue at its reductions of rows.
//
//===----------------------------------------------------------------------===//

#include "RowPhases.h"

#include "Constants.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace mlir::tenon;

static void replaceResult(RowPhase &phase) {
  ReduceRowOp op = phase.reduction;
  Value result = phase.result;
  OpBuilder b(op->getContext());
  b.setInsertionPointAfter(op);
  if (result.getType() != op.getType())
    result = CastOp::create(b, op.getLoc(), op.getType(), result);
  op.getResult().replaceAllUsesWith(result);
}

/// Whether all `roots` that depend on the region's first argument do so through
/// `value`.
static bool isCut(Block &body, ValueRange roots, Value value) {
  llvm::SmallPtrSet<Value, 16> reached;
  reached.insert(body.getArgument(0));
  for (Operation &op : body)
    for (Value result : op.getResults())
      if (result != value && llvm::any_of(op.getOperands(), [&](Value operand) {
            return reached.contains(operand);
          }))
        reached.insert(result);
  return llvm::none_of(roots,
                       [&](Value root) { return reached.contains(root); });
}

/// The last value of the argument's shape that is between it and all `roots`,
/// and depends on none of `others`; null if that is the argument alone.
static Value findSource(Block &body, ValueRange roots, ValueRange others) {
  Type type = body.getArgument(0).getType();
  auto depends = [&](Value value) {
    return llvm::any_of(others, [&](Value other) {
      return llvm::is_contained(EpiloguePlan::getPhase(body, value).operands,
                                other);
    });
  };
  for (Operation &op : llvm::reverse(body.without_terminator()))
    if (op.getNumResults() == 1 &&
        cast<RankedTensorType>(op.getResult(0).getType()).getShape() ==
            cast<RankedTensorType>(type).getShape() &&
        !isCut(body, op.getResult(0), body.getArgument(0)) &&
        isCut(body, roots, op.getResult(0)) && !depends(op.getResult(0)))
      return op.getResult(0);
  return Value();
}

/// A copy of all that computes `value`, so that it stays as it is when others
/// take the argument for something else.
static Value copySlice(Block &body, Value value) {
  EpiloguePhase phase = EpiloguePlan::getPhase(body, value);
  OpBuilder b = OpBuilder::atBlockTerminator(&body);
  IRMapping copies;
  for (Operation *op : phase.ops)
    b.clone(*op, copies);
  return copies.lookupOrDefault(value);
}

/// Has the first argument stand for `source` in all that takes that.
static void moveSource(Block &body, Value source) {
  BlockArgument argument = body.getArgument(0);
  OpBuilder b(source.getContext());
  b.setInsertionPointAfterValue(source);
  Value moved = argument;
  if (argument.getType() != source.getType())
    moved = CastOp::create(b, source.getLoc(), source.getType(), argument);
  source.replaceAllUsesWith(moved);
}

/// Finds a phase's source: between the argument, and what this and later
/// reductions take and the region yields.
static void takeSource(Block &body, RowPhase &phase, ArrayRef<RowPhase> left,
                       ValueRange others) {
  SmallVector<Value> roots(body.getTerminator()->getOperands());
  for (const RowPhase &other : left)
    roots.push_back(ReduceRowOp(other.reduction).getInput());
  Value source = findSource(body, roots, others);
  if (!source)
    return;
  phase.source = copySlice(body, source);
  phase.sourcePhase = EpiloguePlan::getPhase(body, phase.source);
  moveSource(body, source);
}

void tenon::takeYielded(Block &body, RowPhases &phases) {
  BlockArgument argument = body.getArgument(0);
  ArrayRef<int64_t> shape =
      cast<RankedTensorType>(argument.getType()).getShape();
  for (Value value : body.getTerminator()->getOperands()) {
    if (value == argument ||
        cast<RankedTensorType>(value.getType()).getShape() != shape)
      continue;
    RowPhase &last = phases.emplace_back();
    last.source = copySlice(body, value);
    last.sourcePhase = EpiloguePlan::getPhase(body, last.source);
    return moveSource(body, value);
  }
}

int64_t tenon::getRowGroups(Block &body) {
  for (Operation &op : body) {
    if (auto reduction = dyn_cast<ReduceRowOp>(op))
      return reduction.getGroups();
    if (auto repeat = dyn_cast<RepeatColumnsOp>(op))
      return repeat.getInput().getType().getDimSize(1);
  }
  return 0;
}

/// Has each of `groups` groups of a row count as a row, in types.
static void takeGroupsForRows(Block &body, int64_t groups) {
  auto narrow = [&](Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    if (type.getRank() == 0 || type.getShape().back() != groups)
      return;
    SmallVector<int64_t> shape(type.getShape());
    shape.back() = 1;
    value.setType(type.clone(shape));
  };
  llvm::for_each(body.getArguments(), narrow);
  for (Operation &op : body)
    llvm::for_each(op.getResults(), narrow);
}

Value tenon::getGroupPointer(ImplicitLocOpBuilder &b, Value pointer,
                             Type inMemory, Type inRegion, Value row,
                             Value group) {
  auto type = cast<ShapedType>(inMemory);
  if (type.getShape() == cast<ShapedType>(inRegion).getShape())
    return pointer;
  Value ahead = group;
  if (type.getRank() == 2 && type.getDimSize(0) != 1) {
    Value before = createI64(b, type.getDimSize(1) - 1);
    ahead =
        arith::AddIOp::create(b, arith::MulIOp::create(b, row, before), group);
  }
  return LLVM::GEPOp::create(b, pointer.getType(), type.getElementType(),
                             pointer, ArrayRef<LLVM::GEPArg>{ahead});
}

RowPhases tenon::cutAtRowReductions(Block &body, SourceMoves moves) {
  RowPhases phases;
  auto reductions = body.getOps<ReduceRowOp>();
  if (int64_t groups = getRowGroups(body); groups > 1)
    takeGroupsForRows(body, groups);
  for (ReduceRowOp op : reductions) {
    RankedTensorType type = op.getType();
    Type compute = getComputeType(type.getElementType());
    RowPhase &phase = phases.emplace_back();
    phase.reduction = op;
    phase.result = body.addArgument(type.clone(compute), op.getLoc());
  }
  for (RowPhase &phase : phases)
    replaceResult(phase);
  SmallVector<Value> results;
  if (moves == SourceMoves::Independent)
    for (RowPhase &phase : phases)
      results.push_back(phase.result);
  for (auto [number, phase] : llvm::enumerate(phases)) {
    if (moves != SourceMoves::None)
      takeSource(body, phase, ArrayRef(phases).drop_front(number), results);
    phase.input = phase.reduction.getInput();
    phase.numbers = phase.reduction.getNumbers();
    if (moves != SourceMoves::None)
      phase.input = copySlice(body, phase.input);
    phase.phase = EpiloguePlan::getPhase(body, phase.input);
  }
  return phases;
}
