//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Batch norm and moments: verification. What they compute:
// BatchNormEmission.cpp.
//
//===----------------------------------------------------------------------===//

#include "tenon/Dialect/Tenon/IR/Tenon.h"

using namespace mlir;
using namespace mlir::tenon;

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
                        int64_t rows, bool sums) {
  int64_t extent = MomentsOp::getNumRows(input, rows, sums);
  return moments.getElementType().isF32() && !input.getElementType().isF64() &&
         moments.getShape() == ArrayRef{extent, input.getDimSize(1)};
}

static StringRef describeMoments(bool sums) {
  return sums ? "the sum" : "mean and M2";
}

/// Checks moments that a reduction is given.
template <typename OpTy> static LogicalResult verifyMoments(OpTy op) {
  Value moments = op.getMoments();
  // batch_norm_training-C5, batch_moments-C2
  if (static_cast<bool>(moments) != op.getMomentRows().has_value())
    return op.emitOpError(
        "takes moments together with moment_rows, or neither");
  if (!moments)
    return success();
  // batch_norm_training-C6, batch_moments-C3
  if (!isa_and_nonnull<EpilogueOp>(op->getParentOp()))
    return op.emitOpError("takes moments within a tenon.epilogue alone");
  // batch_norm_training-C7, batch_moments-C4
  auto input = cast<RankedTensorType>(op.getInput().getType());
  auto type = cast<RankedTensorType>(moments.getType());
  constexpr bool sums = std::is_same_v<OpTy, BatchSumOp>;
  if (!isMomentsOf(type, input, *op.getMomentRows(), sums))
    return op.emitOpError("needs moments in f32, ")
           << describeMoments(sums) << " of each " << *op.getMomentRows()
           << " rows of " << input << ", but they are " << type;
  // batch_norm_training-C8, batch_moments-C5
  bool isMomentsAlone =
      isa<BlockArgument>(moments) &&
      llvm::all_of(moments.getUses(), [](OpOperand &use) {
        auto reduction = dyn_cast<OpTy>(use.getOwner());
        return reduction && use == reduction.getMomentsMutable()[0];
      });
  if (!isMomentsAlone)
    return op.emitOpError("takes as moments an input of the tenon.epilogue "
                          "that nothing else reads");
  return success();
}

/// The type of statistics that are in the compute type.
static RankedTensorType getStatisticType(RankedTensorType input) {
  Type type = input.getElementType();
  return RankedTensorType::get(
      input.getDimSize(1),
      type.isF64() ? type : Float32Type::get(type.getContext()));
}

static LogicalResult verifyStatistics(BatchNormTrainingOp op) {
  SmallVector<Type> expected;
  if (op.getRunningMean())
    expected = {op.getRunningMean().getType(), op.getRunningVar().getType()};
  if (op.getSaveStatistics())
    expected.append(2, getStatisticType(op.getInput().getType()));
  // batch_norm_training-C3
  if (TypeRange(expected) == op.getStatistics().getTypes())
    return success();
  return op.emitOpError("gives new running statistics of the given ones' "
                        "types, then those that save_statistics asks for: "
                        "expected (")
         << expected << ") after the result, but has ("
         << op.getStatistics().getTypes() << ")";
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
  if (failed(verifyStatistics(*this)) || failed(verifyMoments(*this)))
    return failure();
  // batch_norm_training-C4
  if (!getMomentum().isFinite())
    return emitOpError("momentum must be finite, but is ")
           << getMomentum().convertToDouble();
  return verifyEps(*this, getEps());
}

LogicalResult BatchMomentsOp::verify() {
  RankedTensorType expected = getStatisticType(getInput().getType());
  // batch_moments-C1
  for (Value result : getResults())
    if (result.getType() != expected)
      return emitOpError("gives mean and M2 as ")
             << expected << " each, but a result is " << result.getType();
  return verifyMoments(*this);
}

LogicalResult BatchSumOp::verify() {
  RankedTensorType input = getInput().getType(), sum = getSum().getType();
  // batch_sum-C1
  if (sum.getDimSize(0) != input.getDimSize(1) ||
      sum.getElementType().isF64() != input.getElementType().isF64())
    return emitOpError("gives a sum for each of the ")
           << input.getDimSize(1) << " columns of " << input
           << ", of f64 if and only if these are, but its result is " << sum;
  return verifyMoments(*this);
}

LogicalResult MomentsOp::verify() {
  // moments-C1
  if (!isMomentsOf(getType(), getInput().getType(), getRows(), getSums()))
    return emitOpError("gives ")
           << describeMoments(getSums()) << " of each " << getRows()
           << " rows of " << getInput().getType()
           << " in f32, but its result is " << getType();
  // moments-C2
  bool isYielded = llvm::all_of(getResult().getUsers(), llvm::IsaPred<YieldOp>);
  if (!isa_and_nonnull<TiledLinearOp>((*this)->getParentOp()) || !isYielded)
    return emitOpError("stands in a tenon.tiled_linear, whose yield alone uses "
                       "it");
  return success();
}
