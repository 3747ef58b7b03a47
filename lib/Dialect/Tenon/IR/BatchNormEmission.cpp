//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Batch norm and moments: what they compute, on scalars.
//
//===----------------------------------------------------------------------===//

#include "MomentArithmetic.h"
#include "ScalarEmitter.h"

#include "tenon/Dialect/Tenon/IR/Tenon.h"

using namespace mlir;
using namespace mlir::tenon;

/// 1 / sqrt(variance + eps)
static Value emitInverseDeviation(ScalarEmitter &e, Value variance,
                                  double eps) {
  Value sum = e.add(variance, e.constant(eps));
  return e.div(e.constant(1.0), math::SqrtOp::create(e.builder, e.loc, sum));
}

//===----------------------------------------------------------------------===//
// BatchNormInferenceOp
//===----------------------------------------------------------------------===//

Value BatchNormInferenceOp::emitScalar(OpBuilder &builder, Location loc,
                                       ValueRange operands) {
  ScalarEmitter e{builder, loc, operands[0].getType()};
  Value inverse =
      emitInverseDeviation(e, operands[2], getEps().convertToDouble());
  unsigned next = 3;
  Value scale = getWeight() ? e.mul(inverse, operands[next++]) : inverse;
  Value result = e.mul(e.sub(operands[0], operands[1]), scale);
  return getBias() ? e.add(result, operands[next]) : result;
}

//===----------------------------------------------------------------------===//
// BatchNormTrainingOp
//===----------------------------------------------------------------------===//

Value BatchNormTrainingOp::getReducedInput() { return getInput(); }
Value BatchNormTrainingOp::getMapped() { return getResult(); }
ResultRange BatchNormTrainingOp::getColumnResults() { return getStatistics(); }
SmallVector<Value> BatchNormTrainingOp::getColumnOperands() {
  SmallVector<Value> operands(llvm::drop_begin(getOperands()));
  if (getMoments())
    operands.pop_back();
  return operands;
}

unsigned BatchNormTrainingOp::getStateSize() {
  return momentArithmetic::kStateSize;
}
SmallVector<Value> BatchNormTrainingOp::emitInit(OpBuilder &builder,
                                                 Location loc, Type type) {
  return momentArithmetic::emitInit(builder, loc, type);
}
SmallVector<Value> BatchNormTrainingOp::emitChunk(OpBuilder &builder,
                                                  Location loc,
                                                  ValueRange elements) {
  return momentArithmetic::emitChunk(builder, loc, elements);
}
SmallVector<Value> BatchNormTrainingOp::emitDistances(OpBuilder &builder,
                                                      Location loc, Value count,
                                                      ValueRange distances) {
  return momentArithmetic::emitDistances(builder, loc, count, distances);
}
SmallVector<Value>
BatchNormTrainingOp::emitCombine(OpBuilder &builder, Location loc,
                                 Value lhsCount, ValueRange lhs, Value rhsCount,
                                 ValueRange rhs) {
  return momentArithmetic::emitCombine(builder, loc, lhsCount, lhs, rhsCount,
                                       rhs);
}
Value BatchNormTrainingOp::getOrigin(ValueRange state) {
  return momentArithmetic::getOrigin(state);
}
SmallVector<Value> BatchNormTrainingOp::emitMove(OpBuilder &builder,
                                                 Location loc, ValueRange state,
                                                 Value amount) {
  return momentArithmetic::emitMove(builder, loc, state, amount);
}

SmallVector<Value> BatchNormTrainingOp::emitFinish(OpBuilder &builder,
                                                   Location loc, Value count,
                                                   ValueRange state,
                                                   ValueRange columnOperands) {
  ScalarEmitter e{builder, loc, count.getType()};
  Value variance = e.div(state[1], count);
  Value scale = emitInverseDeviation(e, variance, getEps().convertToDouble());
  unsigned next = 0;
  if (getWeight())
    scale = e.mul(scale, columnOperands[next++]);
  SmallVector<Value> finished{state[0], scale};
  if (getBias())
    finished.push_back(columnOperands[next]);
  return finished;
}

SmallVector<Value>
BatchNormTrainingOp::emitColumnResults(OpBuilder &builder, Location loc,
                                       Value count, ValueRange state,
                                       ValueRange columnOperands) {
  ScalarEmitter e{builder, loc, count.getType()};
  SmallVector<Value> saved;
  if (getSaveStatistics())
    saved = {state[0], emitInverseDeviation(e, e.div(state[1], count),
                                            getEps().convertToDouble())};
  if (!getRunningMean())
    return saved;
  double momentum = getMomentum().convertToDouble();
  auto update = [&](Value running, Value batch) {
    return e.add(e.mul(running, e.constant(1.0 - momentum)),
                 e.mul(batch, e.constant(momentum)));
  };
  // The running variance takes the unbiased estimate.
  Value unbiased = e.div(state[1], e.sub(count, e.constant(1.0)));
  ValueRange running = columnOperands.take_back(2);
  SmallVector<Value> results{update(running[0], state[0]),
                             update(running[1], unbiased)};
  llvm::append_range(results, saved);
  return results;
}

Value BatchNormTrainingOp::emitApply(OpBuilder &builder, Location loc,
                                     Value element, ValueRange finished) {
  ScalarEmitter e{builder, loc, element.getType()};
  Value result = e.mul(e.sub(element, finished[0]), finished[1]);
  return finished.size() == 3 ? e.add(result, finished[2]) : result;
}

//===----------------------------------------------------------------------===//
// Ops that only reduce
//===----------------------------------------------------------------------===//

SmallVector<Value> BatchMomentsOp::emitColumnResults(OpBuilder &, Location,
                                                     Value, ValueRange state,
                                                     ValueRange) {
  return llvm::to_vector(state);
}

SmallVector<Value> BatchSumOp::emitColumnResults(OpBuilder &, Location, Value,
                                                 ValueRange state, ValueRange) {
  return llvm::to_vector(state);
}
