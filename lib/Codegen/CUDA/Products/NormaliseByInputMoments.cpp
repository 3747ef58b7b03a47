//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A layer whose batch norm takes the statistics that x and w give.
//
//===----------------------------------------------------------------------===//

#include "NormaliseByInputMoments.h"

#include "ElementwiseToEpilogue.h"
#include "RestEpilogue.h"
#include "SplitOperands.h"

#include "tenon/Schedule/Checks/ReductionMethod.h"
#include "tenon/Schedule/Checks/Schedule.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::tenon;

namespace {
/// Builds the statistics of the norm's input, and the new running ones.
class StatisticsBuilder {
public:
  StatisticsBuilder(FusedLinearOp op, BatchNormTrainingOp norm, RewriterBase &b)
      : op(op), norm(norm), b(b), loc(norm.getLoc()) {}

  /// The product's mean, what the distance from it is multiplied by, the new
  /// statistics.
  SmallVector<Value> build();

private:
  SmallVector<Value> cloneOperands();
  Value apply(const AffineStep &step, Value value);
  Value applyToMean(Value mean);
  Value applyToVariance(Value variance);
  Value createInverseDeviation(Value variance);
  Value createScale(Value inverse);
  Value dropIfConstant(Value scale, Value variance);
  Value keepWhatIsNotFinite(Value mean, Value ofInput);
  Value blend(Value running, Value value);

  FusedLinearOp op;
  BatchNormTrainingOp norm;
  RewriterBase &b;
  Location loc;
  SmallVector<AffineStep> steps;
  IRMapping mapping; ///< from the layer's region to the statistics'
};
} // namespace

/// The layer's operands that the statistics depend on.
SmallVector<Value> StatisticsBuilder::cloneOperands() {
  llvm::SmallSetVector<Value, 8> needed;
  auto insert = [&](Value value) {
    if (value)
      needed.insert(value);
  };
  for (const AffineStep &step : steps)
    insert(step.operand);
  insert(norm.getWeight());
  insert(norm.getRunningMean());
  insert(norm.getRunningVar());
  for (unsigned i = 0; i != needed.size(); ++i)
    if (Operation *producer = needed[i].getDefiningOp())
      needed.insert_range(producer->getOperands());
  SmallVector<Value> inputs;
  Block *body = b.getInsertionBlock();
  for (BlockArgument argument : op.getBody()->getArguments()) {
    if (!needed.contains(argument))
      continue;
    inputs.push_back(op.getEpilogueOperands()[argument.getArgNumber() - 1]);
    mapping.map(argument, body->addArgument(argument.getType(), loc));
  }
  for (Operation &nested : op.getBody()->without_terminator())
    if (llvm::any_of(nested.getResults(),
                     [&](Value result) { return needed.contains(result); }))
      b.clone(nested, mapping);
  return inputs;
}

/// `value` times or plus what the step multiplies by or adds.
Value StatisticsBuilder::apply(const AffineStep &step, Value value) {
  auto create = [&](auto other) -> Value {
    if (step.isScale)
      return MulOp::create(b, loc, value, other);
    return AddOp::create(b, loc, value, other);
  };
  return step.operand ? create(mapping.lookup(step.operand))
                      : create(step.scalar);
}

Value StatisticsBuilder::applyToMean(Value mean) {
  for (const AffineStep &step : steps)
    mean = apply(step, mean);
  return mean;
}

Value StatisticsBuilder::applyToVariance(Value variance) {
  for (const AffineStep &step : steps)
    for (unsigned twice = 0; step.isScale && twice != 2; ++twice)
      variance = apply(step, variance);
  return variance;
}

/// 1 / sqrt(variance + eps)
Value StatisticsBuilder::createInverseDeviation(Value variance) {
  Value sum = AddOp::create(b, loc, variance, norm.getEps().convertToDouble());
  Value deviation = math::SqrtOp::create(b, loc, sum);
  return DivOp::create(b, loc, deviation, /*other=*/Value(),
                       b.getF64FloatAttr(1),
                       /*scalar_first=*/b.getUnitAttr());
}

/// Weight times inverse deviation and what the product is multiplied by before
/// the norm, once a column and not once an element.
Value StatisticsBuilder::createScale(Value inverse) {
  Value scale = inverse;
  for (const AffineStep &step : steps)
    if (step.isScale)
      scale = apply(step, scale);
  Value weight = norm.getWeight();
  return weight ? MulOp::create(b, loc, scale, mapping.lookup(weight)) : scale;
}

/// 0 where the product has no variance: its rows are equal there, and what they
/// differ from the exact mean by is their own rounding alone, which
/// 1 / sqrt(eps) would make large.
Value StatisticsBuilder::dropIfConstant(Value scale, Value variance) {
  // Twice this makes at least 1 of the smallest f32.
  constexpr double kLarge = 1e38;
  for (unsigned twice = 0; twice != 2; ++twice)
    variance = MulOp::create(b, loc, variance, kLarge);
  Value hasVariance =
      MinOp::create(b, loc, variance, /*other=*/Value(), b.getF64FloatAttr(1),
                    /*scalar_first=*/UnitAttr());
  return MulOp::create(b, loc, scale, hasVariance);
}

/// What is added before the norm cancels in its result, unless it is NaN or
/// infinite, or the sum is: then the column is NaN.
Value StatisticsBuilder::keepWhatIsNotFinite(Value mean, Value ofInput) {
  bool hasSum =
      llvm::any_of(steps, [](const AffineStep &step) { return !step.isScale; });
  if (!hasSum)
    return mean;
  Value zero = SubOp::create(b, loc, ofInput, ofInput);
  return AddOp::create(b, loc, mean, zero);
}

/// (1 - momentum) running + momentum value.
Value StatisticsBuilder::blend(Value running, Value value) {
  double momentum = norm.getMomentum().convertToDouble();
  Value kept = MulOp::create(b, loc, mapping.lookup(running), 1 - momentum);
  return AddOp::create(b, loc, kept, MulOp::create(b, loc, value, momentum));
}

SmallVector<Value> StatisticsBuilder::build() {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(op);
  steps = *findAffineSteps(op, norm);
  auto moments = ProductMomentsOp::create(b, loc, lookThroughSplit(op.getX()),
                                          lookThroughSplit(op.getW()));
  Region region;
  Block &body = region.emplaceBlock();
  SmallVector<Value> inputs = moments.getResults(), arguments;
  for (Value result : moments.getResults())
    arguments.push_back(body.addArgument(result.getType(), loc));
  SmallVector<Value> statistics;
  {
    OpBuilder::InsertionGuard inner(b);
    b.setInsertionPointToEnd(&body);
    llvm::append_range(inputs, cloneOperands());
    Value mean = applyToMean(arguments[0]);
    Value inverse = createInverseDeviation(applyToVariance(arguments[1]));
    statistics = {keepWhatIsNotFinite(arguments[0], mean),
                  dropIfConstant(createScale(inverse), arguments[1])};
    if (!norm.getNewStatistics().empty()) {
      Value unbiased = applyToVariance(arguments[2]);
      statistics.push_back(blend(norm.getRunningMean(), mean));
      statistics.push_back(blend(norm.getRunningVar(), unbiased));
    }
    if (norm.getSaveStatistics())
      statistics.append({mean, inverse});
    YieldOp::create(b, loc, statistics);
  }
  SmallVector<Value> outputs;
  for (Value value : statistics)
    outputs.push_back(createEmpty(
        b, loc, cast<RankedTensorType>(value.getType()), op.getX()));
  auto epilogue = EpilogueOp::create(b, loc, inputs, outputs);
  b.inlineRegionBefore(region, epilogue.getEpilogue(),
                       epilogue.getEpilogue().end());
  return epilogue.getResults();
}

/// Replaces the norm's result by what a mean and a scale, new operands of the
/// layer, make of the product itself: its columns are read once for all that
/// stands between the two, and a sum that cancels rounds nothing.
static void replaceNorm(FusedLinearOp op, BatchNormTrainingOp norm,
                        ValueRange statistics, RewriterBase &rewriter) {
  Location loc = norm.getLoc();
  op.getEpilogueOperandsMutable().append(statistics);
  SmallVector<Value> arguments;
  for (Value value : statistics)
    arguments.push_back(op.getBody()->addArgument(value.getType(), loc));
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(norm);
  Value result =
      SubOp::create(rewriter, loc, op.getAccumulator(), arguments[0]);
  result = MulOp::create(rewriter, loc, result, arguments[1]);
  if (Value bias = norm.getBias())
    result = AddOp::create(rewriter, loc, result, bias);
  if (Type type = norm.getResult().getType(); result.getType() != type)
    result = CastOp::create(rewriter, loc, type, result);
  rewriter.replaceAllUsesWith(norm.getResult(), result);
  rewriter.eraseOp(norm);
  (void)runRegionDCE(rewriter, op.getEpilogue());
  eraseUnusedOperands(op);
}

FusedLinearOp tenon::normaliseByInputMoments(FusedLinearOp op,
                                             RewriterBase &rewriter) {
  BatchNormTrainingOp norm =
      *op.getBody()->getOps<BatchNormTrainingOp>().begin();
  SmallVector<Value> statistics = StatisticsBuilder(op, norm, rewriter).build();
  // Statistics, which the yield alone uses, are no longer the layer's.
  SmallVector<Value> yielded, results(op.getNumResults());
  SmallVector<unsigned> positions;
  for (auto [index, value] : llvm::enumerate(op.getYield().getValues())) {
    if (llvm::is_contained(norm.getStatistics(), value)) {
      results[index] = statistics[1 + cast<OpResult>(value).getResultNumber()];
      continue;
    }
    yielded.push_back(value);
    positions.push_back(index);
  }
  op.getYield().getValuesMutable().assign(yielded);
  auto layer = FusedLinearOp::create(
      rewriter, op.getLoc(), ValueRange(yielded).getTypes(), op.getX(),
      op.getW(), op.getEpilogueOperands(), op.getPrecisionAttr());
  layer.inherit(op);
  rewriter.inlineRegionBefore(op.getEpilogue(), layer.getEpilogue(),
                              layer.getEpilogue().end());
  replaceNorm(layer, norm, ArrayRef(statistics).take_front(2), rewriter);
  for (auto [position, result] : llvm::zip(positions, layer.getResults()))
    results[position] = result;
  rewriter.replaceOp(op, results);
  return layer;
}
