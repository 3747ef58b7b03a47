//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reductions of an epilogue as linalg: along M a pass over the rows, then one
// loop over the columns; along N a loop over each row, then one over the rows.
//
//===----------------------------------------------------------------------===//

#include "ReductionToLinalg.h"

#include "LinalgMap.h"

using namespace mlir;
using namespace mlir::tenon;

/// One pass over the rows in order: each element joins its column's state.
static SmallVector<Value> emitStatistics(OpBuilder &builder,
                                         ReductionEpilogueOp op, Value input) {
  Location loc = op.getLoc();
  MLIRContext *context = builder.getContext();
  Type type = builder.getF64Type();
  OpFoldResult columns = getExtent(builder, loc, input, 1);
  SmallVector<Value> outputs;
  for (Value init : op.emitInit(builder, loc, type)) {
    Value empty = tensor::EmptyOp::create(builder, loc, columns, type);
    outputs.push_back(
        linalg::FillOp::create(builder, loc, init, empty).getResult(0));
  }
  AffineMap column =
      AffineMap::get(2, 0, getAffineDimExpr(1, context), context);
  SmallVector<AffineMap> maps(outputs.size() + 1, column);
  maps[0] = builder.getMultiDimIdentityMap(2);
  auto generic = linalg::GenericOp::create(
      builder, loc, ValueRange(outputs).getTypes(), input, outputs, maps,
      {utils::IteratorType::reduction, utils::IteratorType::parallel},
      [&](OpBuilder &nested, Location bodyLoc, ValueRange elements) {
        Value row = linalg::IndexOp::create(nested, bodyLoc, 0);
        row = arith::IndexCastOp::create(nested, bodyLoc, nested.getI64Type(),
                                         row);
        Value seen = arith::SIToFPOp::create(nested, bodyLoc, type, row);
        Value one = arith::ConstantOp::create(nested, bodyLoc,
                                              nested.getF64FloatAttr(1.0));
        Value element = convertFloat(nested, bodyLoc, elements[0], type);
        SmallVector<Value> single = op.emitChunk(nested, bodyLoc, element);
        linalg::YieldOp::create(nested, bodyLoc,
                                op.emitCombine(nested, bodyLoc, seen,
                                               elements.drop_front(), one,
                                               single));
      });
  return llvm::to_vector_of<Value>(generic.getResults());
}

/// How many values the map takes is known once they are emitted: on a scratch
/// block, from which nothing is kept.
static unsigned countFinished(ReductionEpilogueOp op, Type type) {
  Block scratch;
  unsigned numStates = op.getStateSize();
  SmallVector<Type> types(numStates + op.getColumnOperands().size(), type);
  scratch.addArguments(types, SmallVector<Location>(types.size(), op.getLoc()));
  OpBuilder builder(op.getContext());
  builder.setInsertionPointToEnd(&scratch);
  ValueRange arguments = scratch.getArguments();
  return op
      .emitFinish(builder, op.getLoc(), arguments[0],
                  arguments.take_front(numStates),
                  arguments.drop_front(numStates))
      .size();
}

/// One loop over the columns: what the map needs, and the column results.
static ReducedColumns finish(OpBuilder &builder, ReductionEpilogueOp op,
                             Value count, ValueRange state,
                             ValueRange columnOperands) {
  Type type = builder.getF64Type();
  SmallVector<Value> inputs(state);
  llvm::append_range(inputs, columnOperands);
  unsigned numFinished = countFinished(op, type);
  SmallVector<Type> outputs(numFinished, type);
  for (Value result : op.getColumnResults())
    outputs.push_back(getElementTypeOrSelf(result));
  SmallVector<Value> results = emitMap(
      builder, op.getLoc(), inputs,
      cast<RankedTensorType>(state[0].getType()).getShape(), outputs,
      [&](OpBuilder &nested, Location loc, ValueRange elements) {
        SmallVector<Value> wide;
        for (Value element : elements)
          wide.push_back(convertFloat(nested, loc, element, type));
        ValueRange states = ValueRange(wide).take_front(state.size());
        ValueRange columns = ValueRange(wide).drop_front(state.size());
        SmallVector<Value> values =
            op.emitFinish(nested, loc, count, states, columns);
        for (auto [value, result] : llvm::zip(
                 op.emitColumnResults(nested, loc, count, states, columns),
                 op.getColumnResults()))
          values.push_back(
              convertFloat(nested, loc, value, getElementTypeOrSelf(result)));
        return values;
      });
  ReducedColumns reduced;
  reduced.finished.assign(results.begin(), results.begin() + numFinished);
  reduced.results.assign(results.begin() + numFinished, results.end());
  return reduced;
}

ReducedColumns tenon::lowerReduction(OpBuilder &builder, ReductionEpilogueOp op,
                                     Value input, ValueRange columnOperands) {
  Location loc = op.getLoc();
  Value rows = getValueOrCreateConstantIndexOp(
      builder, loc, getExtent(builder, loc, input, 0));
  rows = arith::IndexCastOp::create(builder, loc, builder.getI64Type(), rows);
  Value count =
      arith::SIToFPOp::create(builder, loc, builder.getF64Type(), rows);
  return finish(builder, op, count, emitStatistics(builder, op, input),
                columnOperands);
}

/// Within a loop over a reduction's input, the element's column.
static Value emitColumn(OpBuilder &builder, Location loc, ReduceRowOp op,
                        Type type) {
  bool isOfGroups = op.getGroups() != 1;
  Value column = linalg::IndexOp::create(builder, loc, isOfGroups ? 2 : 1);
  if (isOfGroups) {
    Value group = linalg::IndexOp::create(builder, loc, 1);
    Value columns =
        arith::ConstantIndexOp::create(builder, loc, op.getGroupColumns());
    Value ahead = arith::MulIOp::create(builder, loc, group, columns);
    column = arith::AddIOp::create(builder, loc, ahead, column);
  }
  column =
      arith::IndexCastOp::create(builder, loc, builder.getI64Type(), column);
  return arith::SIToFPOp::create(builder, loc, type, column);
}

/// Combines each group of a row in order, in f64: one sum loses nothing in so
/// many steps. Of a place `numbers` are those that stand there, or null.
static ValueRange emitRowStates(OpBuilder &builder, ReduceRowOp op, Value input,
                                Value numbers) {
  Location loc = op.getLoc();
  MLIRContext *context = builder.getContext();
  Type type = builder.getF64Type();
  int64_t groups = op.getGroups();
  SmallVector<OpFoldResult> extents{getExtent(builder, loc, input, 0),
                                    builder.getIndexAttr(groups)};
  SmallVector<Value> inputs{input}, inits;
  if (numbers)
    inputs.push_back(numbers);
  for (Value neutral : op.emitNeutral(builder, type)) {
    Value empty = tensor::EmptyOp::create(builder, loc, extents, type);
    inits.push_back(
        linalg::FillOp::create(builder, loc, neutral, empty).getResult(0));
  }
  AffineExpr row = getAffineDimExpr(0, context);
  SmallVector<AffineExpr> place{row, getAffineConstantExpr(0, context)};
  SmallVector<utils::IteratorType> iterators{utils::IteratorType::parallel,
                                             utils::IteratorType::reduction};
  if (groups != 1) {
    for (Value &whole : inputs) {
      auto type = cast<RankedTensorType>(whole.getType());
      auto parted = RankedTensorType::get(
          {type.getDimSize(0), groups, op.getGroupColumns()},
          type.getElementType());
      whole = tensor::ExpandShapeOp::create(
          builder, loc, parted, whole,
          ArrayRef<ReassociationIndices>{{0}, {1, 2}});
    }
    place = {row, getAffineDimExpr(1, context)};
    iterators.insert(iterators.begin(), utils::IteratorType::parallel);
  }
  unsigned loops = iterators.size();
  SmallVector<AffineMap> maps(inputs.size(),
                              builder.getMultiDimIdentityMap(loops));
  maps.append(inits.size(), AffineMap::get(loops, 0, place, context));
  auto generic = linalg::GenericOp::create(
      builder, loc, ValueRange(inits).getTypes(), inputs, inits, maps,
      iterators, [&](OpBuilder &nested, Location bodyLoc, ValueRange elements) {
        SmallVector<Value> element{
            convertFloat(nested, bodyLoc, elements[0], type)};
        if (numbers)
          element.push_back(convertFloat(nested, bodyLoc, elements[1], type));
        else if (op.givesPlace())
          element.push_back(emitColumn(nested, bodyLoc, op, type));
        linalg::YieldOp::create(
            nested, bodyLoc,
            op.emitCombine(nested, elements.drop_front(inputs.size()),
                           element));
      });
  return generic.getResults();
}

Value tenon::lowerRowReduction(OpBuilder &builder, ReduceRowOp op, Value input,
                               Value numbers) {
  Type type = getComputeType(op.getType().getElementType());
  return emitMap(
      builder, op.getLoc(), emitRowStates(builder, op, input, numbers),
      op.getType().getShape(), type,
      [&](OpBuilder &nested, Location loc, ValueRange elements) {
        Value finished = op.emitFinish(nested, elements);
        return SmallVector<Value>{convertFloat(nested, loc, finished, type)};
      })[0];
}
