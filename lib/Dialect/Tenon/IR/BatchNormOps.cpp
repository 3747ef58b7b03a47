//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Batch norm, in inference and in training: verification and emission.
//
//===----------------------------------------------------------------------===//

#include "ScalarEmitter.h"

#include "tenon/Dialect/Tenon/IR/Tenon.h"

using namespace mlir;
using namespace mlir::tenon;

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

/// Checks that each operand that is not optional is there once: the sizes of
/// the operands' groups are an attribute, and the generic form may say
/// anything.
static LogicalResult verifySegments(Operation *op, ArrayRef<int32_t> required) {
  // batch_norm-C4
  if (llvm::all_of(required, [](int32_t size) { return size == 1; }))
    return success();
  return op->emitOpError(
      "'operandSegmentSizes' must be 1 for each operand that "
      "is not optional");
}

/// Checks that an optional per-feature operand is [N] for an input [M, N].
static LogicalResult verifyFeatures(Operation *op, StringRef name,
                                    Value operand, RankedTensorType input) {
  if (!operand)
    return success();
  auto type = cast<RankedTensorType>(operand.getType());
  // batch_norm-C2
  if (type.getElementType().isF64() != input.getElementType().isF64())
    return op->emitOpError()
           << name << " and input must both be f64 or neither, but " << name
           << " is " << type << " and input is " << input;
  // batch_norm-C1
  if (type.getDimSize(0) == input.getDimSize(1))
    return success();
  return op->emitOpError() << name
                           << " must have one value a feature: expected "
                           << "extent " << input.getDimSize(1) << " for input "
                           << input << ", but " << name << " is " << type;
}

static LogicalResult verifyEps(Operation *op, const APFloat &eps) {
  // batch_norm-C3
  if (eps.isFinite() && !eps.isNegative())
    return success();
  return op->emitOpError("eps must be finite and not negative, but is ")
         << eps.convertToDouble();
}

LogicalResult BatchNormInferenceOp::verify() {
  if (failed(verifySegments(
          *this, ArrayRef(getProperties().operandSegmentSizes).take_front(3))))
    return failure();
  RankedTensorType input = getInput().getType();
  for (auto [name, operand] : {std::pair<StringRef, Value>{"mean", getMean()},
                               {"variance", getVariance()},
                               {"weight", getWeight()},
                               {"bias", getBias()}})
    if (failed(verifyFeatures(*this, name, operand, input)))
      return failure();
  return verifyEps(*this, getEps());
}

static bool isMomentsOf(RankedTensorType moments, RankedTensorType input,
                        int64_t rows) {
  int64_t extent = MomentsOp::getNumRows(input.getDimSize(0), rows);
  return moments.getElementType().isF32() && !input.getElementType().isF64() &&
         moments.getShape() == ArrayRef{extent, input.getDimSize(1)};
}

static LogicalResult verifyMoments(BatchNormTrainingOp op) {
  Value moments = op.getMoments();
  // batch_norm_training-C5
  if (static_cast<bool>(moments) != op.getMomentRows().has_value())
    return op.emitOpError(
        "takes moments together with moment_rows, or neither");
  if (!moments)
    return success();
  // batch_norm_training-C6
  if (!isa_and_nonnull<EpilogueOp>(op->getParentOp()))
    return op.emitOpError("takes moments within a tenon.epilogue alone");
  // batch_norm_training-C7
  RankedTensorType input = op.getInput().getType();
  auto type = cast<RankedTensorType>(moments.getType());
  if (!isMomentsOf(type, input, *op.getMomentRows()))
    return op.emitOpError("needs moments in f32, mean and M2 of each ")
           << *op.getMomentRows() << " rows of " << input << ", but they are "
           << type;
  // batch_norm_training-C8
  bool isMomentsAlone = isa<BlockArgument>(moments) &&
                        llvm::all_of(moments.getUses(), [](OpOperand &use) {
                          auto norm =
                              dyn_cast<BatchNormTrainingOp>(use.getOwner());
                          return norm && use == norm.getMomentsMutable()[0];
                        });
  if (!isMomentsAlone)
    return op.emitOpError("takes as moments an input of the tenon.epilogue "
                          "that nothing else reads");
  return success();
}

LogicalResult BatchNormTrainingOp::verify() {
  if (failed(verifySegments(
          *this, ArrayRef(getProperties().operandSegmentSizes).take_front(1))))
    return failure();
  RankedTensorType input = getInput().getType();
  // batch_norm_training-C1
  if (input.getDimSize(0) == 1)
    return emitOpError("needs more than one row to normalise over, but input "
                       "is ")
           << input << "; use batch_norm_inference for a batch of 1";
  // batch_norm_training-C2
  if (!getRunningMean() != !getRunningVar())
    return emitOpError("takes both running statistics or neither");
  for (auto [name, operand] :
       {std::pair<StringRef, Value>{"weight", getWeight()},
        {"bias", getBias()},
        {"running_mean", getRunningMean()},
        {"running_var", getRunningVar()}})
    if (failed(verifyFeatures(*this, name, operand, input)))
      return failure();
  SmallVector<Type> statistics;
  if (getRunningMean())
    statistics = {getRunningMean().getType(), getRunningVar().getType()};
  // batch_norm_training-C3
  if (TypeRange(statistics) != getNewStatistics().getTypes())
    return emitOpError("gives new running statistics of the given ones' types: "
                       "expected (")
           << statistics << ") after the result, but has ("
           << getNewStatistics().getTypes() << ")";
  if (failed(verifyMoments(*this)))
    return failure();
  // batch_norm_training-C4
  if (!getMomentum().isFinite())
    return emitOpError("momentum must be finite, but is ")
           << getMomentum().convertToDouble();
  return verifyEps(*this, getEps());
}

LogicalResult MomentsOp::verify() {
  // moments-C1
  if (!isMomentsOf(getType(), getInput().getType(), getRows()))
    return emitOpError("gives mean and M2 of each ")
           << getRows() << " rows of " << getInput().getType()
           << " in f32, but its result is " << getType();
  // moments-C2
  bool isYielded = llvm::all_of(getResult().getUsers(), llvm::IsaPred<YieldOp>);
  if (!isa_and_nonnull<TiledLinearOp>((*this)->getParentOp()) || !isYielded)
    return emitOpError("stands in a tenon.tiled_linear, whose yield alone uses "
                       "it");
  return success();
}

//===----------------------------------------------------------------------===//
// Emission
//===----------------------------------------------------------------------===//

/// 1 / sqrt(variance + eps)
static Value emitInverseDeviation(ScalarEmitter &e, Value variance,
                                  double eps) {
  Value sum = e.add(variance, e.constant(eps));
  return e.div(e.constant(1.0), math::SqrtOp::create(e.builder, e.loc, sum));
}

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

int64_t BatchNormTrainingOp::getReductionAxis() { return 0; }
Value BatchNormTrainingOp::getReducedInput() { return getInput(); }
SmallVector<Value> BatchNormTrainingOp::getColumnOperands() {
  SmallVector<Value> operands(llvm::drop_begin(getOperands()));
  if (getMoments())
    operands.pop_back();
  return operands;
}

// A state is (mean, M2), M2 the sum of squared distances from the mean.
unsigned BatchNormTrainingOp::getStateSize() { return 2; }

SmallVector<Value> BatchNormTrainingOp::emitInit(OpBuilder &builder,
                                                 Location loc, Type type) {
  Value zero = ScalarEmitter{builder, loc, type}.constant(0.0);
  return {zero, zero};
}

SmallVector<Value> BatchNormTrainingOp::emitChunk(OpBuilder &builder,
                                                  Location loc,
                                                  ValueRange elements) {
  ScalarEmitter e{builder, loc, elements[0].getType()};
  // Relative to the first element: a sum of large numbers would round away what
  // they differ by.
  Value origin = elements[0];
  if (elements.size() == 1)
    return {origin, e.constant(0.0)};
  SmallVector<Value> distances;
  for (Value element : elements.drop_front())
    distances.push_back(e.sub(element, origin));
  Value sum = distances[0];
  for (Value distance : ArrayRef(distances).drop_front())
    sum = e.add(sum, distance);
  Value mean = e.mul(sum, e.constant(1.0 / elements.size()));
  Value m2 = e.mul(mean, mean); // the first element's
  for (Value distance : distances) {
    Value rest = e.sub(distance, mean);
    m2 = e.add(e.mul(rest, rest), m2);
  }
  return {e.add(origin, mean), m2};
}

/// Chan's rule: mean = mA + d nB / n, M2 = M2A + M2B + d^2 nA nB / n,
/// d = mB - mA, n = nA + nB.
SmallVector<Value>
BatchNormTrainingOp::emitCombine(OpBuilder &builder, Location loc,
                                 Value lhsCount, ValueRange lhs, Value rhsCount,
                                 ValueRange rhs) {
  ScalarEmitter e{builder, loc, lhsCount.getType()};
  // Two empty sets: divide by 1, not 0.
  Value total = e.add(lhsCount, rhsCount);
  Value divisor =
      arith::MaximumFOp::create(builder, loc, total, e.constant(1.0));
  Value share = e.div(rhsCount, divisor);
  Value delta = e.sub(rhs[0], lhs[0]);
  Value step = e.mul(delta, share);
  Value mean = e.add(lhs[0], step);
  Value between = e.mul(e.mul(delta, step), lhsCount);
  return {mean, e.add(e.add(lhs[1], rhs[1]), between)};
}

Value BatchNormTrainingOp::getOrigin(ValueRange state) { return state[0]; }

SmallVector<Value> BatchNormTrainingOp::emitMove(OpBuilder &builder,
                                                 Location loc, ValueRange state,
                                                 Value amount) {
  ScalarEmitter e{builder, loc, amount.getType()};
  return {e.add(state[0], amount), state[1]};
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
  if (!getRunningMean())
    return {};
  ScalarEmitter e{builder, loc, count.getType()};
  double momentum = getMomentum().convertToDouble();
  auto update = [&](Value running, Value batch) {
    return e.add(e.mul(running, e.constant(1.0 - momentum)),
                 e.mul(batch, e.constant(momentum)));
  };
  // The running variance takes the unbiased estimate.
  Value unbiased = e.div(state[1], e.sub(count, e.constant(1.0)));
  ValueRange running = columnOperands.take_back(2);
  return {update(running[0], state[0]), update(running[1], unbiased)};
}

Value BatchNormTrainingOp::emitApply(OpBuilder &builder, Location loc,
                                     Value element, ValueRange finished) {
  ScalarEmitter e{builder, loc, element.getType()};
  Value result = e.mul(e.sub(element, finished[0]), finished[1]);
  return finished.size() == 3 ? e.add(result, finished[2]) : result;
}
