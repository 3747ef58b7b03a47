//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Unary elementwise ops: folding, verification, and emission of those without a
// transcendental function.
//
//===----------------------------------------------------------------------===//

#include "ScalarEmitter.h"

#include "tenon/Dialect/Tenon/IR/NarrowFloats.h"
#include "tenon/Dialect/Tenon/IR/Tenon.h"

#include <cmath>

using namespace mlir;
using namespace mlir::tenon;

//===----------------------------------------------------------------------===//
// Folding and verification
//===----------------------------------------------------------------------===//

OpFoldResult ReluOp::fold(FoldAdaptor) {
  Operation *producer = getInput().getDefiningOp();
  if (isa_and_nonnull<ReluOp>(producer))
    return getInput();
  if (auto clamp = dyn_cast_or_null<ClampOp>(producer);
      clamp && minimum(clamp.getMin(), clamp.getMax()) > APFloat(0.0))
    return getInput();
  return {};
}

OpFoldResult LeakyReluOp::fold(FoldAdaptor) {
  return getNegativeSlope().convertToDouble() == 1.0 ? getInput() : Value();
}

LogicalResult tenon::detail::verifyFinite(Operation *op) {
  for (StringAttr name : op->getName().getAttributeNames())
    if (auto number = op->getAttrOfType<FloatAttr>(name);
        number && !number.getValue().isFinite())
      return op->emitOpError()
             << name.getValue() << " must be finite, but is " << number;
  return success();
}

LogicalResult LeakyReluOp::verify() { // leaky_relu-C1
  return detail::verifyFinite(*this);
}

OpFoldResult ClampOp::fold(FoldAdaptor) {
  bool unbounded = getMin().isInfinity() && getMin().isNegative() &&
                   getMax().isInfinity() && !getMax().isNegative();
  return unbounded ? getInput() : Value();
}

/// A clamp of a clamp is one clamp, with the inner bounds clamped by the outer.
LogicalResult ClampOp::canonicalize(ClampOp op, PatternRewriter &rewriter) {
  auto inner = op.getInput().getDefiningOp<ClampOp>();
  if (!inner)
    return failure();
  auto apply = [&](const APFloat &bound) {
    return rewriter.getFloatAttr(
        rewriter.getF64Type(),
        minimum(maximum(bound, op.getMin()), op.getMax()));
  };
  // The inner clamp of min > max is the constant max, which apply keeps.
  rewriter.replaceOpWithNewOp<ClampOp>(op, op.getType(), inner.getInput(),
                                       apply(inner.getMin()),
                                       apply(inner.getMax()));
  return success();
}

LogicalResult ClampOp::verify() {
  // clamp-C1
  if (getMin().isNaN())
    return emitOpError("min must not be NaN");
  if (getMax().isNaN())
    return emitOpError("max must not be NaN");
  return success();
}

/// What is rounded already stays as it is.
OpFoldResult RoundTf32Op::fold(FoldAdaptor) {
  return getInput().getDefiningOp<RoundTf32Op>() ? getInput() : Value();
}

LogicalResult RoundTf32Op::verify() {
  // round_tf32-C1
  if (getType().getElementType().isF32())
    return success();
  return emitOpError("rounds f32, but is given ")
         << getInput().getType()
         << "; remove it: 16 bits are exact in tf32, and f64 is never rounded";
}

/// Whether `clamp` leaves all that a cast to f8E4M3FN tells apart: what is
/// larger becomes the largest number there (cast-R1).
static bool isWithinBytes(ClampOp clamp) {
  constexpr double largest = 448.0;
  return clamp.getMin().convertToDouble() <= -largest &&
         clamp.getMax().convertToDouble() >= largest;
}

/// A cast of a widening cast is one cast: the inner one is exact.
OpFoldResult CastOp::fold(FoldAdaptor) {
  if (getInput().getType() == getType())
    return getInput();
  if (auto clamp = getInput().getDefiningOp<ClampOp>();
      clamp && isa<Float8E4M3FNType>(getType().getElementType()) &&
      isWithinBytes(clamp)) {
    getInputMutable().assign(clamp.getInput());
    return getResult();
  }
  auto inner = getInput().getDefiningOp<CastOp>();
  if (!inner || !inner.getType().getElementType().isF32())
    return {};
  if (inner.getInput().getType() == getType())
    return inner.getInput();
  getInputMutable().assign(inner.getInput());
  return getResult();
}

LogicalResult CastOp::verify() {
  RankedTensorType from = getInput().getType(), to = getType();
  // cast-C1
  if (from.getElementType().isF64() || to.getElementType().isF64())
    return emitOpError(
               "converts between types of 32 bits or fewer, but is from ")
           << from << " to " << to
           << "; a model's f64 tensors stay f64, so convert outside of it";
  // cast-C2
  if (from.getShape() != to.getShape())
    return emitOpError("keeps the shape, but is from ") << from << " to " << to;
  return success();
}

LogicalResult SelectEqualOp::inferReturnTypes(
    MLIRContext *, std::optional<Location>, ValueRange operands, DictionaryAttr,
    OpaqueProperties, RegionRange, SmallVectorImpl<Type> &types) {
  types.push_back(operands[0].getType());
  return success();
}

LogicalResult SelectEqualOp::verify() {
  RankedTensorType x = getInput().getType();
  for (RankedTensorType type : {getA().getType(), getB().getType()}) {
    // select_equal-C1
    auto shape = broadcastShapes(x.getShape(), type.getShape());
    if (!shape || ArrayRef(*shape) != x.getShape())
      return emitOpError("compares what broadcasts to its input's shape, but "
                         "that is ")
             << x << ", and it is given " << type;
    // select_equal-C2
    if (type.getElementType().isF64() != x.getElementType().isF64())
      return emitOpError("mixes f64 with another element type: ")
             << x << " and " << type;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Emission
//===----------------------------------------------------------------------===//

Value ReluOp::emitScalar(OpBuilder &builder, Location loc,
                         ValueRange operands) {
  ScalarEmitter e(builder, loc, operands);
  return arith::MaximumFOp::create(builder, loc, operands[0], e.constant(0.0));
}

LibraryPart ReluOp::getLibraryPart() { return LibraryPart::Relu; }

Value LeakyReluOp::emitScalar(OpBuilder &builder, Location loc,
                              ValueRange operands) {
  ScalarEmitter e(builder, loc, operands);
  Value slope = e.constant(getNegativeSlope().convertToDouble());
  Value x = operands[0];
  return e.select(e.greater(x, e.constant(0.0)), x, e.mul(x, slope));
}

Value SelectEqualOp::emitScalar(OpBuilder &builder, Location loc,
                                ValueRange operands) {
  ScalarEmitter e(builder, loc, operands);
  Value isEqual = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ,
                                        operands[1], operands[2]);
  return e.select(isEqual, operands[0], e.constant(0.0));
}

Value ClampOp::emitScalar(OpBuilder &builder, Location loc,
                          ValueRange operands) {
  ScalarEmitter e(builder, loc, operands);
  Value low = e.constant(getMin().convertToDouble());
  Value high = e.constant(getMax().convertToDouble());
  Value bounded = arith::MaximumFOp::create(builder, loc, operands[0], low);
  return arith::MinimumFOp::create(builder, loc, bounded, high);
}

/// Half of the last bit kept is added to the magnitude, of which the lower bits
/// are then cut off: a carry goes into the exponent, up to infinity.
Value RoundTf32Op::emitScalar(OpBuilder &builder, Location loc,
                              ValueRange operands) {
  ScalarEmitter e(builder, loc, operands);
  Value x = operands[0];
  auto integer = [&](int32_t value) -> Value {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getI32IntegerAttr(value));
  };
  Value bits = arith::BitcastOp::create(builder, loc, builder.getI32Type(), x);
  Value sum = arith::AddIOp::create(builder, loc, bits, integer(1 << 12));
  Value cut = arith::AndIOp::create(builder, loc, sum, integer(-(1 << 13)));
  Value rounded = arith::BitcastOp::create(builder, loc, e.type, cut);
  // A NaN's payload may be in the lower bits alone, or overflow into the sign.
  Value isNaN =
      arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNO, x, x);
  return e.select(isNaN, e.constant(std::nan("")), rounded);
}

/// Scalars are in the compute type; what is stored is rounded there.
/// To 8 bits it rounds within a region too (Spec.md, cast-R2), where something
/// else than the yield sees that.
Value CastOp::emitScalar(OpBuilder &builder, Location loc,
                         ValueRange operands) {
  Value value = operands[0];
  Type type = getType().getElementType();
  bool isSeen =
      isa_and_nonnull<TenonDialect>((*this)->getParentOp()->getDialect()) &&
      !llvm::all_of((*this)->getUsers(),
                    [](Operation *user) { return isa<YieldOp>(user); });
  if (!isNarrowFloat(type) || !isSeen)
    return value;
  Value rounded = arith::TruncFOp::create(builder, loc, type, value);
  return arith::ExtFOp::create(builder, loc, value.getType(), rounded);
}
