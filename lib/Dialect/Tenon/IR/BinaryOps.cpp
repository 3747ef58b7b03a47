//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Binary elementwise ops: broadcasting, assembly, folding, emission.
//
//===----------------------------------------------------------------------===//

#include "ScalarEmitter.h"

#include "tenon/Dialect/Tenon/IR/Tenon.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::tenon;

//===----------------------------------------------------------------------===//
// Broadcasting
//===----------------------------------------------------------------------===//

std::optional<SmallVector<int64_t>>
tenon::broadcastShapes(ArrayRef<int64_t> lhs, ArrayRef<int64_t> rhs) {
  if (lhs.size() < rhs.size())
    std::swap(lhs, rhs);
  SmallVector<int64_t> result(lhs);
  for (auto [extent, other] :
       llvm::zip(llvm::reverse(result), llvm::reverse(rhs))) {
    if (extent == other || other == 1)
      continue;
    if (extent != 1)
      return std::nullopt;
    extent = other;
  }
  return result;
}

LogicalResult tenon::detail::inferBroadcast(std::optional<Location> loc,
                                            StringRef opName,
                                            ValueRange operands,
                                            SmallVectorImpl<Type> &types) {
  for (auto [index, type] : llvm::enumerate(operands.getTypes()))
    if (!isa<RankedTensorType>(type))
      return emitOptionalError(loc, "'", opName, "' op operand #", index,
                               " must be a ranked tensor, but is ", type);
  auto input = cast<RankedTensorType>(operands[0].getType());
  if (operands.size() == 1) {
    types.push_back(input);
    return success();
  }
  auto other = cast<RankedTensorType>(operands[1].getType());
  // binary-C3
  auto shape = broadcastShapes(input.getShape(), other.getShape());
  if (!shape)
    return emitOptionalError(
        loc, "'", opName, "' op input and other do not broadcast: ", input,
        " and ", other,
        "; extents must be equal or 1, from the last dimension on");
  types.push_back(RankedTensorType::get(*shape, input.getElementType()));
  return success();
}

//===----------------------------------------------------------------------===//
// Assembly: `%a, %b : type, type`, `%a, 2.0 : type` or `2.0, %a : type`
//===----------------------------------------------------------------------===//

static ParseResult parseScalar(OpAsmParser &parser, FloatAttr &scalar) {
  double value;
  if (parser.parseFloat(value))
    return failure();
  scalar = parser.getBuilder().getF64FloatAttr(value);
  return success();
}

ParseResult tenon::detail::parseBinary(OpAsmParser &parser,
                                       OperationState &result) {
  SmallVector<OpAsmParser::UnresolvedOperand, 2> operands(1);
  Builder &builder = parser.getBuilder();
  FloatAttr scalar;
  SMLoc start = parser.getCurrentLocation();
  if (OptionalParseResult first = parser.parseOptionalOperand(operands[0]);
      first.has_value()) {
    OpAsmParser::UnresolvedOperand second;
    if (failed(*first) || parser.parseComma())
      return failure();
    OptionalParseResult other = parser.parseOptionalOperand(second);
    if (!other.has_value() ? parseScalar(parser, scalar) : *other)
      return failure();
    if (other.has_value())
      operands.push_back(second);
  } else {
    if (parseScalar(parser, scalar) || parser.parseComma() ||
        parser.parseOperand(operands[0]))
      return failure();
    result.addAttribute("scalar_first", builder.getUnitAttr());
  }
  if (scalar)
    result.addAttribute("scalar", scalar);
  SmallVector<Type, 2> types;
  if (parser.parseOptionalAttrDict(result.attributes) ||
      parser.parseColonTypeList(types) ||
      parser.resolveOperands(operands, types, start, result.operands))
    return failure();
  return inferBroadcast(parser.getEncodedSourceLoc(start),
                        result.name.getStringRef(), result.operands,
                        result.types);
}

void tenon::detail::printBinary(OpAsmPrinter &printer, Operation *op) {
  auto scalar = op->getAttrOfType<FloatAttr>("scalar");
  bool first = op->hasAttr("scalar_first");
  printer << ' ';
  if (scalar && first) {
    printer.printAttributeWithoutType(scalar);
    printer << ", ";
  }
  printer.printOperands(op->getOperands());
  if (scalar && !first) {
    printer << ", ";
    printer.printAttributeWithoutType(scalar);
  }
  printer.printOptionalAttrDict(op->getAttrs(), {"scalar", "scalar_first"});
  printer << " : " << op->getOperandTypes();
}

LogicalResult tenon::detail::verifyBinary(Operation *op) {
  bool hasScalar = op->hasAttr("scalar");
  bool hasOther = op->getNumOperands() == 2;
  // binary-C1
  if (hasScalar == hasOther)
    return op->emitOpError("takes either a second tensor or a constant, but "
                           "has ")
           << (hasScalar ? "both" : "neither");
  // binary-C2
  if (hasOther && op->hasAttr("scalar_first"))
    return op->emitOpError("has 'scalar_first' but no constant");
  if (!hasOther)
    return success();
  Type input = op->getOperand(0).getType(), other = op->getOperand(1).getType();
  // binary-C4
  if (getElementTypeOrSelf(input).isF64() !=
      getElementTypeOrSelf(other).isF64())
    return op->emitOpError("input and other must both be f64 or neither, but "
                           "are ")
           << input << " and " << other;
  return success();
}

//===----------------------------------------------------------------------===//
// Folding
//===----------------------------------------------------------------------===//

/// The input, if `op` leaves it as it is: its constant stands second and is
/// exactly `neutral`, the sign of a zero included.
template <typename OpTy>
static OpFoldResult foldNeutral(OpTy op, double neutral) {
  if (!op.getScalarAttr() || op.getScalarFirst())
    return {};
  if (op.getScalarAttr().getValue().bitwiseIsEqual(APFloat(neutral)))
    return op.getInput();
  return {};
}

// x + 0.0 turns -0.0 into 0.0; x + -0.0 and x - 0.0 are x for every x.
OpFoldResult AddOp::fold(FoldAdaptor) { return foldNeutral(*this, -0.0); }
OpFoldResult SubOp::fold(FoldAdaptor) { return foldNeutral(*this, 0.0); }
OpFoldResult MulOp::fold(FoldAdaptor) { return foldNeutral(*this, 1.0); }
OpFoldResult DivOp::fold(FoldAdaptor) { return foldNeutral(*this, 1.0); }
OpFoldResult MinOp::fold(FoldAdaptor) {
  return foldNeutral(*this, std::numeric_limits<double>::infinity());
}
OpFoldResult MaxOp::fold(FoldAdaptor) {
  return foldNeutral(*this, -std::numeric_limits<double>::infinity());
}
OpFoldResult GateOp::fold(FoldAdaptor) { return {}; }

/// Writes a constant of a commutative op second.
template <typename OpTy>
static LogicalResult moveScalarSecond(OpTy op, PatternRewriter &rewriter) {
  if (!op.getScalarFirst() || isa<SubOp, DivOp, GateOp>(op))
    return failure();
  rewriter.modifyOpInPlace(op, [&] { op.setScalarFirst(false); });
  return success();
}

/// A splat constant that does not widen the result becomes a `scalar`.
template <typename OpTy>
static LogicalResult splatToScalar(OpTy op, PatternRewriter &rewriter) {
  DenseFPElementsAttr constant;
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    if (op->getNumOperands() != 2 ||
        !matchPattern(operand, m_Constant(&constant)) || !constant.isSplat())
      continue;
    Value tensor = op->getOperand(1 - index);
    if (tensor.getType() != op.getType())
      continue;
    APFloat value = constant.template getSplatValue<APFloat>();
    bool inexact;
    value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                  &inexact);
    rewriter.replaceOpWithNewOp<OpTy>(
        op, op.getType(), tensor, /*other=*/Value(),
        rewriter.getF64FloatAttr(value.convertToDouble()),
        /*scalar_first=*/index == 0);
    return success();
  }
  return failure();
}

template <typename OpTy>
static LogicalResult canonicalizeBinary(OpTy op, PatternRewriter &rewriter) {
  if (succeeded(moveScalarSecond(op, rewriter)))
    return success();
  return splatToScalar(op, rewriter);
}

LogicalResult AddOp::canonicalize(AddOp op, PatternRewriter &rewriter) {
  return canonicalizeBinary(op, rewriter);
}
LogicalResult SubOp::canonicalize(SubOp op, PatternRewriter &rewriter) {
  return canonicalizeBinary(op, rewriter);
}
LogicalResult MulOp::canonicalize(MulOp op, PatternRewriter &rewriter) {
  return canonicalizeBinary(op, rewriter);
}
LogicalResult MinOp::canonicalize(MinOp op, PatternRewriter &rewriter) {
  return canonicalizeBinary(op, rewriter);
}
LogicalResult MaxOp::canonicalize(MaxOp op, PatternRewriter &rewriter) {
  return canonicalizeBinary(op, rewriter);
}
LogicalResult GateOp::canonicalize(GateOp op, PatternRewriter &rewriter) {
  return canonicalizeBinary(op, rewriter);
}

/// Division by a power of two is multiplication by its reciprocal, exactly, and
/// a tenth of the instructions.
LogicalResult DivOp::canonicalize(DivOp op, PatternRewriter &rewriter) {
  if (succeeded(canonicalizeBinary(op, rewriter)))
    return success();
  FloatAttr scalar = op.getScalarAttr();
  if (!scalar || op.getScalarFirst())
    return failure();
  // The reciprocal must be normal in f32 too, where the product is computed.
  int exponent = scalar.getValue().getExactLog2Abs();
  if (exponent < -126 || exponent > 126)
    return failure();
  double reciprocal = 1.0 / scalar.getValueAsDouble();
  rewriter.replaceOpWithNewOp<MulOp>(op, op.getInput(), reciprocal);
  return success();
}

//===----------------------------------------------------------------------===//
// What matrix libraries have
//===----------------------------------------------------------------------===//

LibraryPart AddOp::getLibraryPart() {
  return getOther() ? LibraryPart::Addend : LibraryPart::None;
}
LibraryPart MulOp::getLibraryPart() {
  return getScalarAttr() ? LibraryPart::Scale : LibraryPart::None;
}

//===----------------------------------------------------------------------===//
// Emission
//===----------------------------------------------------------------------===//

/// The two sides, the constant in its place.
template <typename OpTy>
static std::pair<Value, Value> getSides(OpTy op, OpBuilder &builder,
                                        Location loc, ValueRange operands) {
  Value lhs = operands[0];
  Value rhs;
  if (FloatAttr scalar = op.getScalarAttr())
    rhs = arith::ConstantOp::create(
        builder, loc,
        builder.getFloatAttr(lhs.getType(), scalar.getValueAsDouble()));
  else
    rhs = operands[1];
  if (op.getScalarFirst())
    std::swap(lhs, rhs);
  return {lhs, rhs};
}

/// Emits `ScalarOp` on the two sides. `contract` lets the back end use fused
/// multiply-adds.
template <typename ScalarOp, typename OpTy>
static Value emitBinary(OpTy op, OpBuilder &builder, Location loc,
                        ValueRange operands) {
  auto [lhs, rhs] = getSides(op, builder, loc, operands);
  return ScalarOp::create(builder, loc, lhs, rhs,
                          arith::FastMathFlags::contract);
}

Value AddOp::emitScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  return emitBinary<arith::AddFOp>(*this, builder, loc, operands);
}
Value SubOp::emitScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  return emitBinary<arith::SubFOp>(*this, builder, loc, operands);
}

/// c (a + b) as c a + c b, if c is a power of two and b is broadcast: c b is
/// then computed once for many elements, and the rest is one fused
/// multiply-add. It is rounded as before, unless c b alone leaves f32's range:
/// so c is bounded. No less is fused than before: a is no product itself.
static Value emitScaledSum(MulOp op, OpBuilder &builder, Location loc,
                           Value input) {
  constexpr int mostExponent = 16;
  FloatAttr scalar = op.getScalarAttr();
  auto add = op.getInput().getDefiningOp<AddOp>();
  auto sum = input.getDefiningOp<arith::AddFOp>();
  if (!scalar || !add || !sum || add.getScalarAttr() || !add->hasOneUse())
    return {};
  int exponent = scalar.getValue().getExactLog2();
  if (exponent < 0 || exponent > mostExponent)
    return {};
  auto isBroadcast = [&](Value operand) {
    return cast<ShapedType>(operand.getType()).getShape() !=
           cast<ShapedType>(add.getType()).getShape();
  };
  Value a = sum.getLhs(), b = sum.getRhs();
  if (isBroadcast(add.getInput()))
    std::swap(a, b);
  else if (!isBroadcast(add.getOther()))
    return {};
  if (a.getDefiningOp<arith::MulFOp>())
    return {};
  ScalarEmitter e(builder, loc, input.getType());
  Value factor = e.constant(scalar.getValueAsDouble());
  return e.add(e.mul(a, factor), e.mul(b, factor));
}

Value MulOp::emitScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  if (Value scaled = emitScaledSum(*this, builder, loc, operands[0]))
    return scaled;
  return emitBinary<arith::MulFOp>(*this, builder, loc, operands);
}
Value DivOp::emitScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  return emitBinary<arith::DivFOp>(*this, builder, loc, operands);
}
Value MinOp::emitScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  return emitBinary<arith::MinimumFOp>(*this, builder, loc, operands);
}
/// Whether `value` is -x.
static bool isNegated(Value value, Value x) {
  auto product = value.getDefiningOp<arith::MulFOp>();
  FloatAttr factor;
  return product && product.getLhs() == x &&
         matchPattern(product.getRhs(), m_Constant(&factor)) &&
         factor.getValue().isExactlyValue(-1.0);
}

Value MaxOp::emitScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  // A magnitude; of two zeros it may be either.
  if (operands.size() == 2 && isNegated(operands[1], operands[0]))
    return math::AbsFOp::create(builder, loc, operands[0]);
  return emitBinary<arith::MaximumFOp>(*this, builder, loc, operands);
}

Value GateOp::emitScalar(OpBuilder &builder, Location loc,
                         ValueRange operands) {
  ScalarEmitter e(builder, loc, operands);
  auto [input, gate] = getSides(*this, builder, loc, operands);
  Value zero = e.constant(0.0);
  Value isShut = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OLE,
                                       gate, zero);
  return e.select(isShut, zero, input);
}
