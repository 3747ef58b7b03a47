//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How far off a right result may be, element by element: each op's error is
// what its operands' errors make of it, found by moving them both ways, and its
// own roundings. The bounds are those of test/python/tenon_graphs/oracle.py.
//
//===----------------------------------------------------------------------===//

#include "Reference.h"

#include "tenon/Dialect/Tenon/IR/Tenon.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

#include <cmath>

using namespace mlir;
using namespace mlir::tenon;

/// The error of a function, such as exp, in roundings.
static constexpr double kFunction = 16;
/// Below it f32 code may give 0: some functions lose subnormal numbers.
static constexpr double kLeast = 1e-35;
/// Code for more ops takes long to compile.
static constexpr unsigned kMaxOps = 256;

static Type elementOf(Value value) { return getElementTypeOrSelf(value); }

static bool isFloats(Value value) {
  return isa<RankedTensorType>(value.getType()) &&
         isa<FloatType>(elementOf(value));
}

static const llvm::fltSemantics &semanticsOf(Type element) {
  return cast<FloatType>(element).getFloatSemantics();
}

static double roundoffOf(Type element) {
  int precision = llvm::APFloat::semanticsPrecision(semanticsOf(element));
  // The reference is in f64, and rounds as well.
  return std::ldexp(1, element.isF64() ? 2 - precision : -precision);
}

/// By how much numbers near 0 are off, at least: those of f64 are the
/// reference's own.
static double leastErrorOf(Type element) {
  if (element.isF64())
    return 0;
  return std::max(
      kLeast,
      llvm::APFloat::getSmallest(semanticsOf(element)).convertToDouble());
}

/// The loss of one operand of a product.
static double lossOf(std::optional<Precision> precision) {
  switch (precision.value_or(Precision::FP32)) {
  case Precision::FP32:
    return 0;
  case Precision::TF32:
    return 0x1p-10;
  case Precision::BF16:
    return 0x1p-8;
  case Precision::FP16:
    return 0x1p-11;
  }
  return 0;
}

namespace {
class BoundsBuilder {
public:
  explicit BoundsBuilder(func::FuncOp target)
      : b(OpBuilder::atBlockEnd(&target.getBody().front())),
        loc(target.getLoc()) {}

  LogicalResult build(func::FuncOp source, func::FuncOp target);

private:
  LogicalResult add(Operation &op);
  void addElementwise(Operation &op);
  void addRounding(Operation &op);
  void addLinear(LinearOp op);
  void addBatchNorm(BatchNormTrainingOp op);
  Value placeError(ReduceRowOp op, Value x, Value xError);
  void addReduceRow(ReduceRowOp op);
  void addBatchSum(BatchSumOp op);
  void addView(Operation &op);

  Value moved(Operation *op, ArrayRef<Value> errors, double backward);
  Value shortened(Operation &op, Value value);
  Value meanOf(Value matrix);
  Value zerosLike(Value value);

  Value plus(Value a, Value c) {
    return !a ? c : !c ? a : AddOp::create(b, loc, a, c).getResult();
  }
  Value minus(Value a, Value c) { return SubOp::create(b, loc, a, c); }
  Value times(Value a, Value c) { return MulOp::create(b, loc, a, c); }
  Value times(Value a, double c) { return MulOp::create(b, loc, a, c); }
  Value magnitude(Value a) { return math::AbsFOp::create(b, loc, a); }

  /// What rounding `value` to `element` costs, and before it computing with
  /// errors of `roundings` units of `u`.
  Value rounded(Value value, Type element, double u, double roundings) {
    double factor = roundings * u;
    if (element.getIntOrFloatBitWidth() < 32)
      factor += roundoffOf(element);
    Value error = times(magnitude(value), factor);
    return AddOp::create(b, loc, error, leastErrorOf(element));
  }

  OpBuilder b;
  Location loc;
  IRMapping values;                    ///< from the source's to those in f64
  llvm::DenseMap<Value, Value> errors; ///< none: exact
};
} // namespace

/// The unit of the type that `op` computes in.
static double unitOf(Operation &op) {
  bool isDouble = llvm::any_of(op.getOperands(), [](Value operand) {
    return isFloats(operand) && elementOf(operand).isF64();
  });
  return roundoffOf(isDouble ? Type(Float64Type::get(op.getContext()))
                             : Float32Type::get(op.getContext()));
}

/// By how much the result of `op`, an elementwise op of f64, changes where its
/// operands are off by `errors` (or none), and each by `backward` of itself.
Value BoundsBuilder::moved(Operation *op, ArrayRef<Value> errors,
                           double backward) {
  // The result where some operands are replaced.
  auto compute = [&](ArrayRef<std::pair<unsigned, Value>> others) -> Value {
    SmallVector<Value> operands(op->getOperands());
    for (auto [index, other] : others) {
      // A variance stays one.
      bool isVariance = isa<BatchNormInferenceOp>(op) && index == 2;
      operands[index] =
          isVariance ? MaxOp::create(b, loc, other, 0.0).getResult() : other;
    }
    Operation *clone = b.clone(*op);
    clone->setOperands(operands);
    return clone->getResult(0);
  };
  Value total, value = op->getResult(0);
  // Of each operand that is off: both of its ends, and the results there.
  struct Ends {
    unsigned index;
    std::array<Value, 2> operands, results;
  };
  SmallVector<Ends> moves;
  for (OpOperand &operand : op->getOpOperands()) {
    unsigned index = operand.getOperandNumber();
    Value error = errors[index];
    if (backward && isFloats(operand.get()))
      error = plus(error, times(magnitude(operand.get()), backward));
    if (!error)
      continue;
    Ends ends{index, {}, {}};
    Value most;
    for (unsigned i : {0, 1}) {
      ends.operands[i] =
          i == 0 ? plus(operand.get(), error) : minus(operand.get(), error);
      ends.results[i] = compute({{index, ends.operands[i]}});
      Value distance = magnitude(minus(ends.results[i], value));
      most = most ? MaxOp::create(b, loc, most, distance) : distance;
    }
    total = plus(total, most);
    moves.push_back(ends);
  }
  // What both operands of a product or a quotient do together is no sum.
  if (moves.size() != 2 || isa<AddOp, SubOp, MinOp, MaxOp>(op))
    return total;
  Value most;
  for (auto [x, ofX] : llvm::zip(moves[0].operands, moves[0].results))
    for (auto [y, ofY] : llvm::zip(moves[1].operands, moves[1].results)) {
      Value both = compute({{moves[0].index, x}, {moves[1].index, y}});
      Value rest = magnitude(minus(plus(both, value), plus(ofX, ofY)));
      most = most ? MaxOp::create(b, loc, most, rest) : rest;
    }
  return plus(total, most);
}

/// By how much `op`, whose result in f64 is `value`, errs more since fewer
/// terms serve a result of 16 bits, or none: a quarter of a rounding (Spec's
/// gelu-R3 and gelu_derivative-R1).
Value BoundsBuilder::shortened(Operation &op, Value value) {
  Type element = elementOf(op.getResult(0));
  if (!element.isF16() && !element.isBF16())
    return {};
  double part = 0.25 * roundoffOf(element);
  auto gelu = dyn_cast<GeluOp>(op);
  if (gelu && gelu.getApproximate() != GeluApproximation::Tanh)
    return times(magnitude(value), part);
  if (!isa<GeluDerivativeOp>(op))
    return {};
  // Of what it is a sum of, which is below 1.
  return AddOp::create(b, loc, times(value, 0.0), part);
}

void BoundsBuilder::addElementwise(Operation &op) {
  double u = unitOf(op);
  Operation *clone = b.clone(op, values);
  widenOp(clone);
  Value value = clone->getResult(0);
  Value error = rounded(value, elementOf(op.getResult(0)), u, kFunction);
  // Differences of nearly equal numbers, where x is negative.
  if (isa<GeluOp>(op))
    error = plus(error, times(magnitude(clone->getOperand(0)), kFunction * u));
  if (isa<GeluDerivativeOp>(op))
    error = AddOp::create(b, loc, error, kFunction * u);
  error = plus(error, shortened(op, value));
  auto scalar = op.getAttrOfType<FloatAttr>("scalar");
  if (scalar && !isa<MulOp, DivOp>(op))
    error =
        AddOp::create(b, loc, error, u * std::abs(scalar.getValueAsDouble()));
  // Functions may be those of a number beside; a batch norm may multiply out.
  bool isBackward =
      isa<BatchNormInferenceOp>(op) || isa<math::MathDialect>(op.getDialect());
  auto known = llvm::map_to_vector(
      op.getOperands(), [&](Value operand) { return errors.lookup(operand); });
  error = plus(error, moved(clone, known, isBackward ? 4 * u : 0));
  values.map(op.getResult(0), value);
  errors[op.getResult(0)] = error;
}

void BoundsBuilder::addRounding(Operation &op) {
  Value source = op.getOperand(0), result = op.getResult(0);
  Value value = values.lookup(source);
  double u = isa<RoundTf32Op>(op) ? 0x1p-10 : roundoffOf(elementOf(result));
  values.map(result, value);
  errors[result] =
      plus(rounded(value, elementOf(result), u, 1), errors.lookup(source));
}

void BoundsBuilder::addLinear(LinearOp op) {
  double u = unitOf(*op);
  Operation *clone = b.clone(*op, values);
  widenOp(clone);
  Value value = clone->getResult(0);
  auto multiply = [&](Value x, Value w) -> Value {
    auto linear = LinearOp::create(b, loc, value.getType(), x, w, Value(),
                                   PrecisionAttr());
    linear.setLayoutAttr(op.getLayoutAttr());
    return linear;
  };
  Value x = magnitude(values.lookup(op.getX()));
  Value w = magnitude(values.lookup(op.getW()));
  int64_t k = op.getExtents().k;
  double lost = (4 + 2 * std::sqrt(static_cast<double>(k))) * u +
                2 * lossOf(op.getPrecision());
  Value error = times(multiply(x, w), lost);
  Value xError = errors.lookup(op.getX()), wError = errors.lookup(op.getW());
  if (xError)
    error = plus(error, multiply(xError, w));
  if (wError)
    error = plus(error, multiply(plus(x, xError), wError));
  Type element = elementOf(op.getResult());
  if (op.getBias()) {
    // The product may be rounded before, linear-R1.
    Value product = minus(value, values.lookup(op.getBias()));
    error = plus(error, rounded(product, element, u, 1));
    error = plus(error, errors.lookup(op.getBias()));
  }
  values.map(op.getResult(), value);
  errors[op.getResult()] = plus(error, rounded(value, element, u, 1));
}

/// The mean of each column.
Value BoundsBuilder::meanOf(Value matrix) {
  auto type = cast<RankedTensorType>(matrix.getType());
  auto column =
      RankedTensorType::get({type.getDimSize(1)}, type.getElementType());
  Value zeros = arith::ConstantOp::create(
      b, loc, DenseElementsAttr::get(column, APFloat(0.0)));
  // With momentum 1 the new mean is the batch's.
  auto op = BatchNormTrainingOp::create(
      b, loc, TypeRange{type, column, column}, matrix, Value(), Value(), zeros,
      zeros, Value(), b.getF64FloatAttr(1e-5), b.getF64FloatAttr(1.0),
      IntegerAttr(), UnitAttr());
  return op.getStatistics()[0];
}

void BoundsBuilder::addBatchNorm(BatchNormTrainingOp op) {
  double u = unitOf(*op);
  Operation *clone = b.clone(*op, values);
  widenOp(clone);
  auto known = [&](Value value) {
    return value ? errors.lookup(value) : value;
  };
  auto given = [&](Value value) {
    return value ? values.lookup(value) : value;
  };
  int64_t rows = op.getInput().getType().getDimSize(0);
  double lost =
      u * (8 + std::sqrt(ShapedType::isDynamic(rows) ? 0x1p20 : rows));
  Value x = given(op.getInput()), xError = known(op.getInput());
  Value mean = meanOf(x);
  Value meanError = times(meanOf(magnitude(x)), lost);
  if (xError)
    meanError = plus(meanError, meanOf(xError));
  Value distance = minus(x, mean), size = magnitude(distance);
  Value distanceError = plus(plus(times(size, u), meanError), xError);
  Value variance = meanOf(times(distance, distance));
  Value varianceError = plus(meanOf(plus(times(times(size, distanceError), 2.0),
                                         times(distanceError, distanceError))),
                             times(variance, lost));

  auto normalised = BatchNormInferenceOp::create(
      b, loc, x.getType(), x, mean, variance, given(op.getWeight()),
      given(op.getBias()), op.getEpsAttr());
  SmallVector<Value> operandErrors{xError, meanError, varianceError};
  for (Value operand : {op.getWeight(), op.getBias()})
    if (operand)
      operandErrors.push_back(known(operand));
  Value value = normalised.getResult();
  errors[op.getResult()] =
      plus(rounded(value, elementOf(op.getResult()), u, kFunction),
           moved(normalised, operandErrors, 4 * u));

  // The unbiased variance is at most twice the other.
  Value batchErrors[] = {meanError, times(varianceError, 2.0)};
  double momentum = op.getMomentum().convertToDouble();
  Value running[] = {op.getRunningMean(), op.getRunningVar()};
  unsigned numNew = op.getNewStatistics().size();
  for (auto [i, result] : llvm::enumerate(op.getStatistics())) {
    Value computed = clone->getResult(i + 1), error;
    if (i < numNew) {
      error = times(batchErrors[i], std::abs(momentum));
      if (Value old = known(running[i]))
        error = plus(error, times(old, std::abs(1 - momentum)));
      error = plus(error, rounded(given(running[i]), elementOf(result), u, 4));
    } else if (i == numNew) {
      error = meanError;
    } else {
      Value shifted =
          AddOp::create(b, loc, variance, op.getEps().convertToDouble());
      auto inverse = math::RsqrtOp::create(b, loc, shifted);
      error = moved(inverse, varianceError, 4 * u);
    }
    errors[result] = plus(error, rounded(computed, elementOf(result), u, 4));
  }
  values.map(op->getResults(), clone->getResults());
}

/// By how much a place may be off: not at all where no second element may be
/// ahead of all others, else by as much as numbers differ.
Value BoundsBuilder::placeError(ReduceRowOp op, Value x, Value xError) {
  auto reduce = [&](RowReduction kind, Value matrix) -> Value {
    return ReduceRowOp::create(b, loc, kind, matrix, op.getGroups());
  };
  if (op.getKind() == RowReduction::ArgMin)
    x = times(x, -1.0);
  Value least = reduce(RowReduction::Max, minus(x, xError));
  if (op.getGroups() != 1)
    least = RepeatColumnsOp::create(b, loc, least, op.getGroupColumns());
  Value above = minus(plus(x, xError), least);
  Value reaches = GateOp::create(b, loc, above.getType(), above, Value(),
                                 b.getF64FloatAttr(1.0), b.getUnitAttr());
  Value others =
      AddOp::create(b, loc, reduce(RowReduction::Sum, reaches), -1.0);
  others = MaxOp::create(b, loc, others, 0.0);
  Value isUnsure = MinOp::create(b, loc, others, 1.0);
  if (!op.getNumbers())
    return times(isUnsure, static_cast<double>(op.getGroupColumns()));
  Value numbers = values.lookup(op.getNumbers());
  return times(isUnsure, minus(reduce(RowReduction::Max, numbers),
                               reduce(RowReduction::Min, numbers)));
}

/// A sum moves by what its elements do, and by what rounding loses of each
/// step. A maximum moves by no more than the element that moves most.
void BoundsBuilder::addReduceRow(ReduceRowOp op) {
  double u = unitOf(*op);
  Operation *clone = b.clone(*op, values);
  widenOp(clone);
  Value x = values.lookup(op.getInput()), value = clone->getResult(0), error;
  bool isSum = [&] {
    switch (op.getKind()) {
    case RowReduction::Sum:
    case RowReduction::Mean:
      return true;
    case RowReduction::Max:
    case RowReduction::Min:
    case RowReduction::ArgMax:
    case RowReduction::ArgMin:
      return false;
    }
    llvm_unreachable("every kind has a bound");
  }();
  auto reduce = [&](Value matrix) -> Value {
    return ReduceRowOp::create(b, loc, isSum ? op.getKind() : RowReduction::Max,
                               matrix, op.getGroups());
  };
  double columns = op.getGroupColumns();
  if (isSum)
    error = times(reduce(magnitude(x)), (8 + std::sqrt(columns)) * u);
  Value ofInput = errors.lookup(op.getInput());
  if (ofInput)
    error = op.givesPlace() ? placeError(op, x, ofInput)
                            : plus(error, reduce(ofInput));
  if (op.getNumbers())
    if (Value ofNumbers = errors.lookup(op.getNumbers()))
      error = plus(error, reduce(ofNumbers));
  values.map(op.getResult(), value);
  errors[op.getResult()] =
      plus(error, rounded(value, elementOf(op.getResult()), u, 1));
}

/// The same of a sum over the batch.
void BoundsBuilder::addBatchSum(BatchSumOp op) {
  Operation *clone = b.clone(*op, values);
  widenOp(clone);
  Value value = clone->getResult(0), x = values.lookup(op.getInput());
  auto sum = [&](Value matrix) -> Value {
    Operation *other = b.clone(*clone);
    other->setOperand(0, matrix);
    return other->getResult(0);
  };
  int64_t rows = op.getInput().getType().getDimSize(0);
  double lost = 8 + std::sqrt(ShapedType::isDynamic(rows) ? 0x1p20 : rows);
  Value error = times(sum(magnitude(x)), lost * unitOf(*op));
  if (Value ofInput = errors.lookup(op.getInput()))
    error = plus(error, sum(ofInput));
  values.map(op.getResult(), value);
  errors[op.getResult()] =
      plus(error, rounded(value, elementOf(op.getResult()), unitOf(*op), 1));
}

Value BoundsBuilder::zerosLike(Value value) { return times(value, 0.0); }

/// An op that moves elements moves their errors.
void BoundsBuilder::addView(Operation &op) {
  Operation *clone = b.clone(op, values);
  widenOp(clone);
  values.map(op.getResult(0), clone->getResult(0));
  if (llvm::none_of(op.getOperands(),
                    [&](Value operand) { return errors.contains(operand); }))
    return;
  SmallVector<Value> operands(clone->getOperands());
  for (auto [operand, source] : llvm::zip(operands, op.getOperands()))
    if (isFloats(source)) {
      Value error = errors.lookup(source);
      operand = error ? error : zerosLike(operand);
    }
  Operation *ofErrors = b.clone(*clone);
  ofErrors->setOperands(operands);
  errors[op.getResult(0)] = ofErrors->getResult(0);
}

LogicalResult BoundsBuilder::add(Operation &op) {
  auto isExact = [&](Value operand) {
    return !isFloats(operand) || !errors.contains(operand);
  };
  if (auto linear = dyn_cast<LinearOp>(op))
    return addLinear(linear), success();
  if (auto norm = dyn_cast<BatchNormTrainingOp>(op))
    return norm.getMoments() ? failure() : (addBatchNorm(norm), success());
  if (auto reduction = dyn_cast<ReduceRowOp>(op))
    return addReduceRow(reduction), success();
  if (auto sum = dyn_cast<BatchSumOp>(op))
    return addBatchSum(sum), success();
  if (op.getNumResults() != 1 || op.getNumRegions() != 0)
    return failure();
  if (isRounding(&op))
    return addRounding(op), success();
  if (isa<tensor::ExtractSliceOp, tensor::InsertSliceOp, tensor::ConcatOp,
          tensor::CollapseShapeOp, tensor::ExpandShapeOp, tensor::CastOp,
          RepeatColumnsOp>(op))
    return addView(op), success();
  if (isFloats(op.getResult(0)) && llvm::any_of(op.getOperands(), isFloats)) {
    if (!isa<ElementwiseEpilogueOp, ScaleBlocksOp>(op) &&
        !OpTrait::hasElementwiseMappableTraits(&op))
      return failure();
    return addElementwise(op), success();
  }
  // What depends on no error, such as a constant or an extent.
  if (!llvm::all_of(op.getOperands(), isExact) && !isa<tensor::DimOp>(op))
    return failure();
  Operation *clone = b.clone(op, values);
  widenOp(clone);
  return success();
}

LogicalResult BoundsBuilder::build(func::FuncOp source, func::FuncOp target) {
  Block &body = source.getBody().front();
  if (!source.getBody().hasOneBlock() || body.getOperations().size() > kMaxOps)
    return failure();
  for (auto [from, to] :
       llvm::zip(source.getArguments(), target.getArguments())) {
    Type wide = widenType(from.getType());
    values.map(from, wide == from.getType()
                         ? to
                         : arith::ExtFOp::create(b, loc, wide, to).getResult());
  }
  for (Operation &op : body.without_terminator())
    if (failed(add(op)))
      return failure();
  SmallVector<Value> results;
  for (Value returned : body.getTerminator()->getOperands()) {
    Value error = errors.lookup(returned);
    results.push_back(error ? error : zerosLike(values.lookup(returned)));
  }
  func::ReturnOp::create(b, loc, results);
  target.setType(FunctionType::get(b.getContext(), target.getArgumentTypes(),
                                   TypeRange(ValueRange(results))));
  return success();
}

LogicalResult tenon::buildBounds(func::FuncOp source, func::FuncOp target) {
  return BoundsBuilder(target).build(source, target);
}
