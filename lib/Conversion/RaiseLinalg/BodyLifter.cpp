//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Takes the body of a linalg op for all elements at once.
//
//===----------------------------------------------------------------------===//

#include "BodyLifter.h"

#include "tenon/Dialect/Tenon/IR/Tenon.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Support/DebugStringHelper.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;
using namespace mlir::tenon;

static double toDouble(TypedAttr number) {
  APFloat value = cast<FloatAttr>(number).getValue();
  bool losesInfo;
  value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                &losesInfo);
  return value.convertToDouble();
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

std::optional<Lifted> BodyLifter::lift(Value scalar) {
  if (auto known = lifted.find(scalar); known != lifted.end())
    return known->second;
  if (TypedAttr number = getNumber(scalar))
    return Lifted{{}, number};
  Operation *op = scalar.getDefiningOp();
  if (!op || op->getBlock() != body || op->getNumResults() != 1) {
    refuse(ReasonCode::NoScalarOp, "what comes from elsewhere");
    return std::nullopt;
  }
  Lifted result;
  SmallVector<Lifted> operands;
  if (isa<arith::SelectOp>(op))
    result.tensor = liftSelect(op);
  if (!result.tensor) {
    for (Value operand : op->getOperands()) {
      std::optional<Lifted> value = lift(operand);
      if (!value)
        return std::nullopt;
      operands.push_back(*value);
    }
    if (isa<arith::SelectOp>(op) && operands[0].number)
      result =
          operands[cast<IntegerAttr>(operands[0].number).getValue().isZero()
                       ? 2
                       : 1];
    else if (llvm::all_of(operands, [](const Lifted &v) { return !!v.number; }))
      result.number = fold(op, operands);
    else
      result.tensor = liftOp(op, operands);
  }
  if (!result.tensor && !result.number) {
    refuse(ReasonCode::NoScalarOp, op->getName().getStringRef());
    return std::nullopt;
  }
  lifted[scalar] = result;
  return result;
}

/// The result of an op on numbers; null if it is not known.
TypedAttr BodyLifter::fold(Operation *op, ArrayRef<Lifted> operands) {
  SmallVector<Attribute> numbers = llvm::map_to_vector(
      operands, [](const Lifted &v) { return Attribute(v.number); });
  if (isa<math::RsqrtOp>(op)) // has no folder
    return FloatAttr::get(op->getResult(0).getType(),
                          1 / std::sqrt(toDouble(operands[0].number)));
  SmallVector<OpFoldResult> results;
  Operation *clone = op->clone();
  TypedAttr number;
  if (succeeded(clone->fold(numbers, results)) && results.size() == 1) {
    if (auto attribute = dyn_cast<Attribute>(results[0]))
      number = dyn_cast<TypedAttr>(attribute);
    else
      for (auto [operand, value] : llvm::zip(clone->getOperands(), operands))
        if (operand == cast<Value>(results[0]))
          number = value.number;
  }
  clone->erase();
  return number;
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

template <typename OpTy>
Value BodyLifter::emitBinary(Location loc, const Lifted &a, const Lifted &b) {
  for (const Lifted &value : {a, b})
    if (value.tensor && !isTenonTensor(value.tensor.getType()))
      return refuse(ReasonCode::NoTensor, debugString(value.tensor.getType()));
  if (a.tensor && b.tensor) {
    if (!broadcastShapes(cast<RankedTensorType>(a.tensor.getType()).getShape(),
                         cast<RankedTensorType>(b.tensor.getType()).getShape()))
      return refuse(ReasonCode::OtherShapes, OpTy::getOperationName());
    return OpTy::create(builder, loc, a.tensor, b.tensor);
  }
  if (a.tensor)
    return OpTy::create(builder, loc, a.tensor, toDouble(b.number));
  if constexpr (!llvm::is_one_of<OpTy, SubOp, DivOp, GateOp>::value)
    return OpTy::create(builder, loc, b.tensor, toDouble(a.number));
  return OpTy::create(builder, loc, b.tensor, Value(),
                      builder.getF64FloatAttr(toDouble(a.number)),
                      builder.getUnitAttr());
}

Value BodyLifter::spread(Operation *op, ArrayRef<Lifted> operands) {
  if (!op->hasTrait<OpTrait::Elementwise>())
    return {};
  RankedTensorType shape;
  for (const Lifted &value : operands)
    if (value.tensor && !shape)
      shape = cast<RankedTensorType>(value.tensor.getType());
  SmallVector<Value> tensors;
  for (const Lifted &value : operands) {
    if (value.tensor) {
      if (cast<RankedTensorType>(value.tensor.getType()).getShape() !=
          shape.getShape())
        return refuse(ReasonCode::OtherShapes, op->getName().getStringRef());
      tensors.push_back(value.tensor);
      continue;
    }
    if (!shape.hasStaticShape())
      return refuse(ReasonCode::OtherShapes, op->getName().getStringRef());
    auto type = shape.clone(value.number.getType());
    tensors.push_back(arith::ConstantOp::create(
        builder, op->getLoc(), DenseElementsAttr::get(type, value.number)));
  }
  OperationState state(op->getLoc(), op->getName(), tensors,
                       {shape.clone(op->getResult(0).getType())},
                       op->getAttrs());
  return builder.create(state)->getResult(0);
}

/// x to a power that is a small number.
Value BodyLifter::liftPower(ArrayRef<Lifted> operands, Location loc) {
  if (!operands[0].tensor || !operands[1].number)
    return {};
  double exponent = isa<IntegerAttr>(operands[1].number)
                        ? double(cast<IntegerAttr>(operands[1].number).getInt())
                        : toDouble(operands[1].number);
  if (exponent == 1)
    return operands[0].tensor;
  if (exponent != 2 && exponent != 3)
    return {};
  Value square = emitBinary<MulOp>(loc, operands[0], operands[0]);
  if (!square || exponent == 2)
    return square;
  return emitBinary<MulOp>(loc, Lifted{square, {}}, operands[0]);
}

Value BodyLifter::liftOp(Operation *op, ArrayRef<Lifted> operands) {
  Location loc = op->getLoc();
  Value x = operands.empty() ? Value() : operands[0].tensor;
  bool isUnary = operands.size() == 1 && x && isTenonTensor(x.getType());
  auto number = [&](double value) {
    return Lifted{{}, builder.getF64FloatAttr(value)};
  };
  Value result =
      llvm::TypeSwitch<Operation *, Value>(op)
          .Case([&](arith::AddFOp) {
            return emitBinary<AddOp>(loc, operands[0], operands[1]);
          })
          .Case([&](arith::SubFOp) {
            return emitBinary<SubOp>(loc, operands[0], operands[1]);
          })
          .Case([&](arith::MulFOp) {
            return emitBinary<MulOp>(loc, operands[0], operands[1]);
          })
          .Case([&](arith::DivFOp) {
            return emitBinary<DivOp>(loc, operands[0], operands[1]);
          })
          .Case<arith::MaximumFOp, arith::MaxNumFOp>([&](Operation *) {
            return emitBinary<MaxOp>(loc, operands[0], operands[1]);
          })
          .Case<arith::MinimumFOp, arith::MinNumFOp>([&](Operation *) {
            return emitBinary<MinOp>(loc, operands[0], operands[1]);
          })
          .Case<math::PowFOp, math::FPowIOp>(
              [&](Operation *) { return liftPower(operands, loc); })
          .Case([&](math::FmaOp) -> Value {
            if (operands[0].number && operands[1].number)
              return {};
            Value product = emitBinary<MulOp>(loc, operands[0], operands[1]);
            return product ? emitBinary<AddOp>(loc, Lifted{product, {}},
                                               operands[2])
                           : Value();
          })
          .Default([](Operation *) { return Value(); });
  if (!result && isUnary)
    result =
        llvm::TypeSwitch<Operation *, Value>(op)
            .Case([&](arith::NegFOp) {
              return emitBinary<MulOp>(loc, operands[0], number(-1));
            })
            .Case([&](math::AbsFOp) {
              Value negated = emitBinary<MulOp>(loc, operands[0], number(-1));
              return emitBinary<MaxOp>(loc, operands[0], Lifted{negated, {}});
            })
            .Case([&](math::ExpOp) { return ExpOp::create(builder, loc, x); })
            .Case([&](math::LogOp) { return LogOp::create(builder, loc, x); })
            .Case(
                [&](math::RsqrtOp) { return RsqrtOp::create(builder, loc, x); })
            .Case([&](math::TanhOp) { return TanhOp::create(builder, loc, x); })
            .Case<arith::ExtFOp, arith::TruncFOp>([&](Operation *) -> Value {
              auto type = cast<RankedTensorType>(x.getType())
                              .clone(op->getResult(0).getType());
              if (!isTenonTensor(type) || type.getElementType().isF64() ||
                  cast<RankedTensorType>(x.getType()).getElementType().isF64())
                return {};
              return CastOp::create(builder, loc, type, x);
            })
            .Default([](Operation *) { return Value(); });
  return result || obstacle ? result : spread(op, operands);
}

//===----------------------------------------------------------------------===//
// Selections
//===----------------------------------------------------------------------===//

/// Whether `compare` asks for more, or for less, and whether it does so
/// strictly.
static std::optional<std::pair<bool, bool>> getOrder(arith::CmpFOp compare) {
  using Predicate = arith::CmpFPredicate;
  switch (compare.getPredicate()) {
  case Predicate::OGT:
  case Predicate::UGT:
    return {{true, true}};
  case Predicate::OGE:
  case Predicate::UGE:
    return {{true, false}};
  case Predicate::OLT:
  case Predicate::ULT:
    return {{false, true}};
  case Predicate::OLE:
  case Predicate::ULE:
    return {{false, false}};
  default:
    return std::nullopt;
  }
}

static bool isSame(const Lifted &a, const Lifted &b) {
  return a.tensor ? a.tensor == b.tensor : a.number == b.number;
}

static bool isZero(const Lifted &value) {
  return value.number && matchPattern(value.number, m_AnyZeroFloat());
}

/// `x > 0 ? positive : negative`, strict or not.
Value BodyLifter::liftBranches(Location loc, const Lifted &x,
                               const Lifted &positive, const Lifted &negative,
                               bool isStrict) {
  if (!x.tensor || !isTenonTensor(x.tensor.getType()))
    return {};
  if (isZero(negative) && isStrict)
    return emitBinary<GateOp>(loc, positive, x);
  auto product =
      negative.tensor ? negative.tensor.getDefiningOp<MulOp>() : MulOp();
  if (!isSame(positive, x) || !product || product.getInput() != x.tensor ||
      !product.getScalar())
    return {};
  return LeakyReluOp::create(
      builder, loc, x.tensor,
      builder.getF64FloatAttr(product.getScalar()->convertToDouble()));
}

/// A selection that is a maximum, or another op of tenon; null if it is none.
Value BodyLifter::liftSelect(Operation *op) {
  auto select = cast<arith::SelectOp>(op);
  auto compare = select.getCondition().getDefiningOp<arith::CmpFOp>();
  auto order =
      compare && compare->getBlock() == body ? getOrder(compare) : std::nullopt;
  if (!order)
    return {};
  SmallVector<Lifted> values;
  for (Value scalar : {compare.getLhs(), compare.getRhs(),
                       select.getTrueValue(), select.getFalseValue()}) {
    std::optional<Lifted> value = lift(scalar);
    if (!value)
      return {};
    values.push_back(*value);
  }
  Lifted a = values[0], b = values[1], yes = values[2], no = values[3];
  if (a.number && b.number)
    return {};
  auto [isMore, isStrict] = *order;
  bool takesFirst = isSame(yes, a) && isSame(no, b);
  if (takesFirst || (isSame(yes, b) && isSame(no, a)))
    return takesFirst == isMore ? emitBinary<MaxOp>(op->getLoc(), a, b)
                                : emitBinary<MinOp>(op->getLoc(), a, b);
  if (isZero(a)) {
    std::swap(a, b);
    isMore = !isMore;
  }
  if (!isZero(b))
    return {};
  return isMore ? liftBranches(op->getLoc(), a, yes, no, isStrict)
                : liftBranches(op->getLoc(), a, no, yes, !isStrict);
}
