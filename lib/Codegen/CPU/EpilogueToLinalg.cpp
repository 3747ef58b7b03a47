//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Epilogue ops as linalg: runs of ops of one shape become one loop; a reduction
// becomes a pass over its input and then takes part in the next loop.
//
//===----------------------------------------------------------------------===//

#include "EpilogueToLinalg.h"

#include "LinalgMap.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::tenon;

namespace {
class EpilogueLowering {
public:
  EpilogueLowering(OpBuilder &builder, ArrayRef<Operation *> ops,
                   ValueRange yielded, IRMapping &tensors)
      : builder(builder), yielded(yielded.begin(), yielded.end()),
        ops(ops.begin(), ops.end()), tensors(tensors) {}

  LogicalResult lower(Operation *op);
  /// Emits the loop of the pending ops.
  void flush();
  /// The tensor for a yielded value, of the value's own type.
  Value getYielded(Value value);

private:
  struct Output {
    Value value;
    Type type;
    bool isYielded;
  };

  llvm::SmallSetVector<Value, 8> getPendingInputs();
  SmallVector<Output> getPendingOutputs();
  bool usesPending(Operation *op);
  LogicalResult reduce(ReductionEpilogueOp op);
  SmallVector<Value> emitStatistics(ReductionEpilogueOp op, Value input);
  void finish(ReductionEpilogueOp op, Value count, ValueRange state);
  Value emitScalar(Operation *op, OpBuilder &nested, Location loc,
                   IRMapping &scalars);

  OpBuilder &builder;
  llvm::SmallPtrSet<Value, 4> yielded;
  llvm::SmallPtrSet<Operation *, 8> ops;
  IRMapping &tensors;
  /// Ops of one shape whose loop is not emitted yet.
  llvm::SmallSetVector<Operation *, 8> pending;
  /// What a reduction's map takes besides its element: tensors of f64.
  llvm::DenseMap<Operation *, SmallVector<Value>> finished;
  /// Yielded values already rounded to their type.
  llvm::DenseMap<Value, Value> rounded;
};
} // namespace

static RankedTensorType getTensorType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

static Type getComputeTypeOf(Value value) {
  return getComputeType(getTensorType(value).getElementType());
}

//===----------------------------------------------------------------------===//
// Maps
//===----------------------------------------------------------------------===//

bool EpilogueLowering::usesPending(Operation *op) {
  return llvm::any_of(op->getOperands(), [&](Value operand) {
    return pending.contains(operand.getDefiningOp());
  });
}

LogicalResult EpilogueLowering::lower(Operation *op) {
  if (auto reduction = dyn_cast<ReductionEpilogueOp>(op)) {
    if (usesPending(op))
      flush();
    if (failed(reduce(reduction)))
      return failure();
    if (!reduction.getMapped())
      return success();
  }
  ArrayRef<int64_t> shape = getTensorType(op->getResult(0)).getShape();
  if (pending.empty() ||
      shape == getTensorType(pending.front()->getResult(0)).getShape()) {
    pending.insert(op);
    return success();
  }
  if (usesPending(op))
    flush();
  // An op on a parameter of another shape does not cut the pending loop in two.
  llvm::SmallSetVector<Operation *, 8> others;
  std::swap(pending, others);
  pending.insert(op);
  if (!others.empty())
    flush();
  pending.insert_range(others);
  return success();
}

/// The result of `op` on scalars, in its compute type.
Value EpilogueLowering::emitScalar(Operation *op, OpBuilder &nested,
                                   Location loc, IRMapping &scalars) {
  Type type = getComputeTypeOf(op->getResult(0));
  auto lookup = [&](Value value, Type wanted) {
    return convertFloat(nested, loc, scalars.lookup(value), wanted);
  };
  if (auto reduction = dyn_cast<ReductionEpilogueOp>(op)) {
    SmallVector<Value> constants;
    for (Value tensor : finished[op])
      constants.push_back(scalars.lookup(tensor));
    Value element = lookup(reduction.getReducedInput(), nested.getF64Type());
    return convertFloat(nested, loc,
                        reduction.emitApply(nested, loc, element, constants),
                        type);
  }
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(lookup(operand, type));
  return cast<ElementwiseEpilogueOp>(op).emitScalar(nested, loc, operands);
}

/// The values that the pending ops take from outside, each once.
llvm::SmallSetVector<Value, 8> EpilogueLowering::getPendingInputs() {
  llvm::SmallSetVector<Value, 8> inputs;
  for (Operation *op : pending) {
    SmallVector<Value> operands;
    if (auto reduction = dyn_cast<ReductionEpilogueOp>(op)) {
      inputs.insert_range(finished[op]);
      operands = {reduction.getReducedInput()};
    } else {
      operands = llvm::to_vector(op->getOperands());
    }
    for (Value operand : operands)
      if (!pending.contains(operand.getDefiningOp()))
        inputs.insert(operand);
  }
  return inputs;
}

/// What of the pending ops' results is needed outside: by later ops in the
/// compute type, as a result in its own type.
SmallVector<EpilogueLowering::Output> EpilogueLowering::getPendingOutputs() {
  SmallVector<Output> outputs;
  for (Operation *op : pending) {
    Value result = op->getResult(0);
    if (llvm::any_of(result.getUsers(), [&](Operation *user) {
          return ops.contains(user) && !pending.contains(user);
        }))
      outputs.push_back(
          {result, getComputeTypeOf(result), /*isYielded=*/false});
    if (yielded.contains(result))
      outputs.push_back({result, getTensorType(result).getElementType(),
                         /*isYielded=*/true});
  }
  return outputs;
}

void EpilogueLowering::flush() {
  if (pending.empty())
    return;
  llvm::SmallSetVector<Value, 8> inputs = getPendingInputs();
  SmallVector<Output> outputs = getPendingOutputs();
  if (outputs.empty()) {
    pending.clear();
    return;
  }
  SmallVector<Value> inputTensors;
  for (Value input : inputs)
    inputTensors.push_back(tensors.lookupOrDefault(input));
  SmallVector<Type> types = llvm::map_to_vector(
      outputs, [](const Output &output) { return output.type; });
  Operation *last = pending.back();
  SmallVector<Value> results =
      emitMap(builder, last->getLoc(), inputTensors,
              getTensorType(last->getResult(0)).getShape(), types,
              [&](OpBuilder &nested, Location loc, ValueRange elements) {
                IRMapping scalars;
                scalars.map(inputs.getArrayRef(), elements);
                for (Operation *op : pending)
                  scalars.map(op->getResult(0),
                              emitScalar(op, nested, op->getLoc(), scalars));
                return llvm::map_to_vector(outputs, [&](const Output &output) {
                  return convertFloat(nested, loc, scalars.lookup(output.value),
                                      output.type);
                });
              });
  for (auto [output, result] : llvm::zip(outputs, results)) {
    if (output.isYielded)
      rounded[output.value] = result;
    else
      tensors.map(output.value, result);
  }
  pending.clear();
}

Value EpilogueLowering::getYielded(Value value) {
  if (Value tensor = rounded.lookup(value))
    return tensor;
  // A value from outside, perhaps kept in the compute type: the product.
  Value tensor = tensors.lookupOrDefault(value);
  Type type = getTensorType(value).getElementType();
  if (getTensorType(tensor).getElementType() == type)
    return tensor;
  return emitMap(
      builder, tensor.getLoc(), tensor, getTensorType(tensor).getShape(), type,
      [&](OpBuilder &nested, Location loc, ValueRange elements) {
        return SmallVector<Value>{convertFloat(nested, loc, elements[0], type)};
      })[0];
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// One pass over the rows in order: each element joins its column's state.
SmallVector<Value> EpilogueLowering::emitStatistics(ReductionEpilogueOp op,
                                                    Value input) {
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
void EpilogueLowering::finish(ReductionEpilogueOp op, Value count,
                              ValueRange state) {
  Type type = builder.getF64Type();
  SmallVector<Value> inputs(state);
  for (Value operand : op.getColumnOperands())
    inputs.push_back(tensors.lookupOrDefault(operand));
  SmallVector<Value> columnResults =
      llvm::to_vector_of<Value>(op.getColumnResults());
  unsigned numFinished = countFinished(op, type);
  SmallVector<Type> outputs(numFinished, type);
  for (Value result : columnResults)
    outputs.push_back(getTensorType(result).getElementType());
  SmallVector<Value> results = emitMap(
      builder, op.getLoc(), inputs, getTensorType(state[0]).getShape(), outputs,
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
                 columnResults))
          values.push_back(convertFloat(
              nested, loc, value, getTensorType(result).getElementType()));
        return values;
      });
  finished[op] = llvm::to_vector(ArrayRef(results).take_front(numFinished));
  for (auto [result, tensor] :
       llvm::zip(columnResults, ArrayRef(results).drop_front(numFinished)))
    tensors.map(result, tensor);
}

LogicalResult EpilogueLowering::reduce(ReductionEpilogueOp op) {
  if (op.getReductionAxis() != 0)
    return op->emitOpError("reduces along dimension ")
           << op.getReductionAxis()
           << "; the CPU target reduces along the batch (0) alone";
  Location loc = op.getLoc();
  Value input = tensors.lookupOrDefault(op.getReducedInput());
  Value rows = getValueOrCreateConstantIndexOp(
      builder, loc, getExtent(builder, loc, input, 0));
  rows = arith::IndexCastOp::create(builder, loc, builder.getI64Type(), rows);
  Value count =
      arith::SIToFPOp::create(builder, loc, builder.getF64Type(), rows);
  finish(op, count, emitStatistics(op, input));
  return success();
}

LogicalResult tenon::lowerEpilogue(OpBuilder &builder,
                                   ArrayRef<Operation *> ops,
                                   ValueRange yielded, IRMapping &tensors,
                                   SmallVectorImpl<Value> &results) {
  EpilogueLowering lowering(builder, ops, yielded, tensors);
  for (Operation *op : ops)
    if (failed(lowering.lower(op)))
      return failure();
  lowering.flush();
  for (Value value : yielded)
    results.push_back(lowering.getYielded(value));
  return success();
}
