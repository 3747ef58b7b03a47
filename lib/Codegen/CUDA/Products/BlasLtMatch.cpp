//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Matches an epilogue against what cuBLASLt computes:
// activation(alpha * acc + residual + bias), in this order, rounded once.
//
//===----------------------------------------------------------------------===//

#include "BlasLtMatch.h"

#include "tenon/Dialect/Tenon/IR/NarrowFloats.h"

using namespace mlir;
using namespace mlir::tenon;
using blaslt::Activation;

blaslt::Compute tenon::getCompute(Type type,
                                  std::optional<Precision> precision) {
  if (type.isF64())
    return blaslt::Compute::F64;
  switch (precision.value_or(Precision::FP32)) {
  case Precision::FP32:
    return blaslt::Compute::F32;
  case Precision::TF32:
    return blaslt::Compute::TF32;
  case Precision::BF16:
    return blaslt::Compute::BF16;
  case Precision::FP16:
    return blaslt::Compute::F16;
  }
  llvm_unreachable("not a precision");
}

namespace {
/// Follows the accumulator through a region, op by op.
class Matcher {
public:
  explicit Matcher(FusedLinearOp op)
      : op(op), type(cast<RankedTensorType>(op.getAccumulator().getType())) {}

  BlasLtMatch run() {
    match.end = op.getAccumulator();
    while (match.end.hasOneUse()) {
      Operation *user = *match.end.user_begin();
      if (isa<YieldOp>(user)) {
        if (op.getNumResults() == 1)
          return match;
        break;
      }
      if (user->getNumResults() != 1 || user->getResultTypes()[0] != type ||
          !take(user, match.end))
        return stop(explain(user, match.end));
      match.end = user->getResult(0);
    }
    if (op.getNumResults() != 1)
      return stop({ReasonCode::SeveralResults, op.getNumResults()});
    return stop({ReasonCode::ValueUsedTwice});
  }

private:
  /// Parts of the plan in the order in which cuBLASLt applies them.
  enum class Part { Product, Alpha, Residual, Bias, Activation };

  /// Why `user`, applied to `current`, does not fit.
  Reason explain(Operation *user, Value current) {
    auto add = dyn_cast<AddOp>(user);
    Value other = add ? getOther(add, current) : Value();
    auto bias = other ? cast<RankedTensorType>(other.getType()) : nullptr;
    if (bias && bias.getRank() == 1 && last < Part::Bias) {
      if (type.getElementType().isF64())
        return ReasonCode::BiasOfF64;
      if (bias.getElementType() != type.getElementType())
        return ReasonCode::BiasOfOtherType;
    }
    return {ReasonCode::OpOutOfPlace, user->getName().getStringRef()};
  }

  static Value getOther(AddOp add, Value current) {
    return add.getInput() == current ? add.getOther() : add.getInput();
  }

  /// Puts `user`, applied to `current`, into the plan if it fits there.
  bool take(Operation *user, Value current) {
    auto op = dyn_cast<ElementwiseEpilogueOp>(user);
    switch (op ? op.getLibraryPart() : LibraryPart::None) {
    case LibraryPart::None:
      return false;
    case LibraryPart::Scale:
      return advance(Part::Alpha) && takeAlpha(cast<MulOp>(user));
    case LibraryPart::Addend:
      return takeSum(cast<AddOp>(user), current);
    case LibraryPart::Relu:
      return takeActivation(Activation::Relu);
    case LibraryPart::GeluTanh:
      return takeActivation(Activation::GeluTanh);
    }
    llvm_unreachable("not a part");
  }

  bool takeActivation(Activation activation) {
    if (type.getElementType().isF64() || !advance(Part::Activation))
      return false;
    match.activation = activation;
    return true;
  }

  /// Not 0, with which cuBLASLt does not read x and w: NaN would be lost.
  bool takeAlpha(MulOp mul) {
    if (!mul.getScalarAttr())
      return false;
    double scalar = mul.getScalarAttr().getValueAsDouble();
    bool f64 = type.getElementType().isF64();
    double rounded = f64 ? scalar : static_cast<float>(scalar);
    if (!std::isfinite(rounded) || rounded == 0.0)
      return false;
    match.alpha = scalar;
    return true;
  }

  bool takeSum(AddOp add, Value current) {
    Value other = getOther(add, current);
    auto argument = dyn_cast_if_present<BlockArgument>(other);
    if (!argument || argument == current)
      return false;
    Value operand = op.getEpilogueOperands()[argument.getArgNumber() - 1];
    if (argument.getType() == type)
      return advance(Part::Residual) && (match.residual = operand);
    auto bias =
        RankedTensorType::get(type.getDimSize(1), type.getElementType());
    if (argument.getType() != bias || type.getElementType().isF64())
      return false;
    return advance(Part::Bias) && (match.bias = operand);
  }

  bool advance(Part part) {
    if (part <= last)
      return false;
    last = part;
    return true;
  }

  /// What fits before the obstacle stays in the plan where that saves a
  /// rounding of the product: it is written in 16 bits once, after it. In f32
  /// the bare product is as good, and leaves cuBLASLt all its algorithms.
  BlasLtMatch stop(Reason obstacle) {
    if (type.getElementTypeBitWidth() != 16) {
      match = BlasLtMatch();
      match.end = op.getAccumulator();
    }
    match.obstacle = std::move(obstacle);
    return match;
  }

  FusedLinearOp op;
  RankedTensorType type;
  BlasLtMatch match;
  Part last = Part::Product;
};
} // namespace

namespace {
/// The same of 8 bits: (acc * scale * scale + bias), cast to 16 bits.
class ByteMatcher {
public:
  explicit ByteMatcher(FusedLinearOp op) : op(op), next(op.getAccumulator()) {
    bare.end = match.end = next;
  }

  BlasLtMatch run() {
    while (auto mul = dyn_cast_or_null<MulOp>(getUser()))
      if (!takeScale(mul))
        return stop();
    if (isa_and_nonnull<AddOp>(getUser()))
      if (!takeBias(cast<AddOp>(getUser())))
        return stop();
    if (auto cast = dyn_cast_or_null<CastOp>(getUser()); cast && isGiven(cast))
      bare = match;
    return stop();
  }

private:
  Operation *getUser() {
    return next.hasOneUse() ? *next.user_begin() : nullptr;
  }

  /// The operand beside `next`, null if it is made in the region or a number.
  Value getOperand(Operation *user) {
    for (Value operand : user->getOperands())
      if (auto argument = dyn_cast<BlockArgument>(operand);
          argument && argument != op.getAccumulator())
        return op.getEpilogueOperands()[argument.getArgNumber() - 1];
    return {};
  }

  /// Of each row of x, or of each row of w. Of a number for all of a matrix
  /// cuBLASLt 13.0 had no algorithm on an H200.
  bool takeScale(MulOp mul) {
    Value scale = getOperand(mul);
    if (!scale || mul.getScalarAttr())
      return false;
    auto type = cast<RankedTensorType>(scale.getType());
    ProductExtents extents = op.getExtents();
    bool isOfW = type.getRank() == 1 && type.getDimSize(0) == extents.n;
    bool isOfX = type.getRank() == 2 && type.getDimSize(1) == 1 &&
                 type.getDimSize(0) == extents.m;
    Value &place = isOfW ? match.wScale : match.xScale;
    if (!type.getElementType().isF32() || !(isOfW || isOfX) || place)
      return false;
    place = scale;
    match.scales = blaslt::Scales::Rows;
    next = mul.getResult();
    return true;
  }

  bool takeBias(AddOp add) {
    Value bias = getOperand(add);
    if (!bias)
      return false;
    match.bias = bias;
    next = add.getResult();
    return true;
  }

  /// Whether cuBLASLt gives what is cast to with what was found so far.
  bool isGiven(CastOp cast) {
    RankedTensorType type = cast.getType();
    Type element = type.getElementType();
    match.end = cast.getResult();
    bool hasBias =
        !match.bias || match.bias.getType() ==
                           RankedTensorType::get(type.getDimSize(1), element);
    bool hasScales = match.xScale && match.wScale;
    return element.isBF16() && hasBias && hasScales;
  }

  /// What is left of the region: what reads the end of `bare`.
  BlasLtMatch stop() {
    next = bare.end;
    Operation *user = getUser();
    if (!user)
      bare.obstacle = ReasonCode::ValueUsedTwice;
    else if (op.getNumResults() != 1)
      bare.obstacle = {ReasonCode::SeveralResults, op.getNumResults()};
    else if (!isa<YieldOp>(user))
      bare.obstacle = {ReasonCode::OpOutOfPlace,
                       user->getName().getStringRef()};
    return bare;
  }

  FusedLinearOp op;
  /// What a plan has, and what has been found of one that casts.
  BlasLtMatch bare, match;
  Value next;
};
} // namespace

BlasLtMatch tenon::matchBlasLt(FusedLinearOp op) {
  return isNarrowFloat(op.getX().getType().getElementType())
             ? ByteMatcher(op).run()
             : Matcher(op).run();
}
