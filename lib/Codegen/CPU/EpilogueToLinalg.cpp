//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Epilogue ops as linalg: runs of ops of one shape become one loop; a reduction
// becomes a pass over its input, and one along M then takes part in the next
// loop.
//
//===----------------------------------------------------------------------===//

#include "EpilogueToLinalg.h"

#include "LinalgMap.h"
#include "ReductionToLinalg.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::tenon;

namespace {
class LinalgEpilogue {
public:
  LinalgEpilogue(OpBuilder &builder, ArrayRef<Operation *> ops,
                 ValueRange yielded, IRMapping &tensors)
      : builder(builder), yielded(yielded.begin(), yielded.end()),
        ops(ops.begin(), ops.end()), tensors(tensors) {}

  void lower(Operation *op);
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
  void reduce(ReductionEpilogueOp op);
  void reduce(ReduceRowOp op);
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

bool LinalgEpilogue::usesPending(Operation *op) {
  return llvm::any_of(op->getOperands(), [&](Value operand) {
    return pending.contains(operand.getDefiningOp());
  });
}

void LinalgEpilogue::lower(Operation *op) {
  auto reduction = dyn_cast<ReductionEpilogueOp>(op);
  auto ofRows = dyn_cast<ReduceRowOp>(op);
  if ((reduction || ofRows) && usesPending(op))
    flush();
  if (ofRows)
    return reduce(ofRows);
  if (reduction) {
    reduce(reduction);
    if (!reduction.getMapped())
      return;
  }
  ArrayRef<int64_t> shape = getTensorType(op->getResult(0)).getShape();
  if (pending.empty() ||
      shape == getTensorType(pending.front()->getResult(0)).getShape()) {
    pending.insert(op);
    return;
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
}

/// The result of `op` on scalars, in its compute type.
Value LinalgEpilogue::emitScalar(Operation *op, OpBuilder &nested, Location loc,
                                 IRMapping &scalars) {
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
  if (isa<RepeatColumnsOp>(op)) // the map of its operand has it so
    return operands[0];
  return cast<ElementwiseEpilogueOp>(op).emitScalar(nested, loc, operands);
}

/// The values that the pending ops take from outside, each once.
llvm::SmallSetVector<Value, 8> LinalgEpilogue::getPendingInputs() {
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
SmallVector<LinalgEpilogue::Output> LinalgEpilogue::getPendingOutputs() {
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

void LinalgEpilogue::flush() {
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

Value LinalgEpilogue::getYielded(Value value) {
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

void LinalgEpilogue::reduce(ReductionEpilogueOp op) {
  auto lookup = [&](Value value) { return tensors.lookupOrDefault(value); };
  SmallVector<Value> columns =
      llvm::map_to_vector(op.getColumnOperands(), lookup);
  ReducedColumns reduced =
      lowerReduction(builder, op, lookup(op.getReducedInput()), columns);
  finished[op] = std::move(reduced.finished);
  for (auto [result, tensor] :
       llvm::zip(op.getColumnResults(), reduced.results))
    tensors.map(result, tensor);
}

void LinalgEpilogue::reduce(ReduceRowOp op) {
  Value numbers = op.getNumbers();
  tensors.map(
      op.getResult(),
      lowerRowReduction(builder, op, tensors.lookupOrDefault(op.getInput()),
                        numbers ? tensors.lookupOrDefault(numbers) : Value()));
}

void tenon::lowerEpilogue(OpBuilder &builder, ArrayRef<Operation *> ops,
                          ValueRange yielded, IRMapping &tensors,
                          SmallVectorImpl<Value> &results) {
  LinalgEpilogue lowering(builder, ops, yielded, tensors);
  for (Operation *op : ops)
    lowering.lower(op);
  lowering.flush();
  for (Value value : yielded)
    results.push_back(lowering.getYielded(value));
}
