//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// linear and fused_linear: verification, building, assembly.
//
//===----------------------------------------------------------------------===//

#include "tenon/Dialect/Tenon/IR/EpilogueOps.h"
#include "tenon/Dialect/Tenon/IR/Tenon.h"

using namespace mlir;
using namespace mlir::tenon;

//===----------------------------------------------------------------------===//
// What linear and fused_linear share
//===----------------------------------------------------------------------===//

/// "[M, 64]" or "[64, M]", with K = 64.
static std::string describeX(int64_t k, std::optional<OperandLayout> layout) {
  std::string extent = std::to_string(k);
  return isXTransposed(layout) ? "[" + extent + ", M]" : "[M, " + extent + "]";
}

/// Checks that x and w agree and that `precision` fits them.
static LogicalResult verifyProduct(LinearLikeOp op) {
  RankedTensorType x = op.getX().getType(), w = op.getW().getType();
  std::optional<OperandLayout> layout = op.getLayout();
  // linear-C1
  if (x.getElementType() != w.getElementType())
    return op->emitOpError("x and w must have one element type, but x is ")
           << x << " and w is " << w;
  // linear-C8
  if (isXTransposed(layout) && !x.hasStaticShape())
    return op->emitOpError("x [K, M] must have a static shape, but is ") << x;
  // linear-C2
  if (x.getDimSize(isXTransposed(layout) ? 0 : 1) != op.getK())
    return op->emitOpError("x and w must agree in K, their ")
           << (layout.value_or(OperandLayout::MK_NK) == OperandLayout::MK_NK
                   ? "last dimension"
                   : "common dimension")
           << ": expected x " << describeX(op.getK(), layout) << " for w " << w
           << ", but x is " << x;
  // linear-C3
  if (op.getPrecision() && !x.getElementType().isF32())
    return op->emitOpError(
               "precision is a contract on products of f32 tensors, "
               "but x is ")
           << x << "; leave it out";
  return success();
}

/// Checks that the product's type can hold it: [M, N], of x's element type, or
/// of f32 where x is of 16 bits or 8.
static LogicalResult verifyProductType(LinearLikeOp op, StringRef name) {
  RankedTensorType x = op.getX().getType(), type = op.getProductType();
  ProductExtents extents = op.getExtents();
  auto expected =
      RankedTensorType::get({extents.m, extents.n}, x.getElementType());
  // linear-C4
  if (type.getShape() != expected.getShape())
    return op->emitOpError() << name << " must be [M, N]: expected " << expected
                             << ", but it is " << type;
  // linear-C5
  bool isNarrow = x.getElementType().getIntOrFloatBitWidth() < 32;
  bool widened = type.getElementType().isF32() && isNarrow;
  if (type != expected && !widened)
    return op->emitOpError() << name << " must have x's element type"
                             << (isNarrow ? " or f32" : "") << ": expected "
                             << expected << ", but it is " << type;
  return success();
}

//===----------------------------------------------------------------------===//
// LinearOp
//===----------------------------------------------------------------------===//

RankedTensorType LinearOp::getProductType() { return getType(); }

Block *LinearOp::getEpilogueBody() { return nullptr; }

LogicalResult LinearOp::verify() {
  if (failed(verifyProduct(*this)) ||
      failed(verifyProductType(*this, "the result")))
    return failure();
  if (!getBias())
    return success();
  RankedTensorType bias = getBias().getType(), w = getW().getType();
  // linear-C6
  if (bias.getDimSize(0) != getExtents().n)
    return emitOpError("bias must have one value a feature: expected [")
           << getExtents().n << "] for w " << w << ", but bias is " << bias;
  // linear-C7
  if (bias.getElementType().isF64() != w.getElementType().isF64())
    return emitOpError("bias and w must both be f64 or neither, but bias is ")
           << bias << " and w is " << w;
  return success();
}

//===----------------------------------------------------------------------===//
// FusedLinearOp: building, verification
//===----------------------------------------------------------------------===//

void FusedLinearOp::build(OpBuilder &builder, OperationState &state, Value x,
                          Value w, Type accumulator, PrecisionAttr precision) {
  build(builder, state, TypeRange(accumulator), x, w, ValueRange(), precision);
  OpBuilder::InsertionGuard guard(builder);
  Block *body = builder.createBlock(state.regions.front().get(), {},
                                    accumulator, state.location);
  YieldOp::create(builder, state.location, body->getArguments());
}

void FusedLinearOp::build(OpBuilder & /*builder*/, OperationState &state,
                          TypeRange results, Value x, Value w,
                          ValueRange epilogueOperands,
                          PrecisionAttr precision) {
  state.addOperands({x, w});
  state.addOperands(epilogueOperands);
  if (precision)
    state.getOrAddProperties<Properties>().precision = precision;
  state.addRegion();
  state.addTypes(results);
}

RankedTensorType FusedLinearOp::getProductType() {
  return cast<RankedTensorType>(getAccumulator().getType());
}

Block *FusedLinearOp::getEpilogueBody() { return getBody(); }

YieldOp FusedLinearOp::getYield() {
  return cast<YieldOp>(getBody()->getTerminator());
}

LogicalResult FusedLinearOp::verify() { return verifyProduct(*this); }

LogicalResult FusedLinearOp::verifyRegions() {
  Block *body = getBody();
  // fused_linear-C1
  if (getNumResults() == 0)
    return emitOpError("must have a result");
  // fused_linear-C2
  if (body->getNumArguments() != getEpilogueOperands().size() + 1)
    return emitOpError("region must take the product and one argument for each "
                       "epilogue operand: expected ")
           << getEpilogueOperands().size() + 1 << " arguments, but it has "
           << body->getNumArguments();
  // fused_linear-C3
  if (!isa<RankedTensorType>(getAccumulator().getType()))
    return emitOpError("the product argument must be a tensor, but is ")
           << getAccumulator().getType();
  if (failed(verifyProductType(*this, "the product argument")))
    return failure();
  // fused_linear-C4
  for (auto [operand, argument] :
       llvm::zip(getEpilogueOperands(), body->getArguments().drop_front()))
    if (operand.getType() != argument.getType())
      return emitOpError("argument #")
             << argument.getArgNumber() << " stands for an operand of type "
             << operand.getType() << ", but is " << argument.getType();
  // fused_linear-C5
  for (Operation &op : body->without_terminator())
    if (!isEpilogueOp(&op))
      return op.emitOpError("cannot be in an epilogue: it is neither "
                            "elementwise nor a reduction of the tenon dialect");
  // fused_linear-C6
  if (getYield().getOperandTypes() != getResultTypes())
    return getYield().emitOpError("must give the results of fused_linear: "
                                  "expected (")
           << getResultTypes() << "), but yields ("
           << getYield().getOperandTypes() << ")";
  return success();
}

FusedLinearOp tenon::toFused(LinearLikeOp layer, RewriterBase &rewriter) {
  auto linear = dyn_cast<LinearOp>(layer.getOperation());
  if (!linear)
    return cast<FusedLinearOp>(layer.getOperation());
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(linear);
  Location loc = linear.getLoc();
  FusedLinearOp fused;
  if (Value bias = linear.getBias()) {
    fused = FusedLinearOp::create(rewriter, loc, TypeRange(linear.getType()),
                                  linear.getX(), linear.getW(), bias,
                                  linear.getPrecisionAttr());
    Block *body = rewriter.createBlock(&fused.getEpilogue(), {},
                                       {linear.getType(), bias.getType()},
                                       {loc, bias.getLoc()});
    Value sum = AddOp::create(rewriter, loc, body->getArgument(0),
                              body->getArgument(1));
    YieldOp::create(rewriter, loc, sum);
  } else {
    fused = FusedLinearOp::create(rewriter, loc, linear.getX(), linear.getW(),
                                  Type(linear.getType()),
                                  linear.getPrecisionAttr());
  }
  fused.inherit(linear);
  rewriter.replaceOp(linear, fused);
  return fused;
}

//===----------------------------------------------------------------------===//
// FusedLinearOp: assembly
//===----------------------------------------------------------------------===//

void FusedLinearOp::getAsmBlockArgumentNames(Region &region,
                                             OpAsmSetValueNameFn setName) {
  if (!region.empty() && region.getNumArguments() != 0)
    setName(region.getArgument(0), "acc");
}

void FusedLinearOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getX() << ", " << getW();
  if (getPrecision())
    printer << " precision" << "<" << stringifyPrecision(*getPrecision())
            << ">";
  if (getLayout())
    printer << " layout" << "<" << stringifyOperandLayout(*getLayout()) << ">";
  printer << " : " << getX().getType() << ", " << getW().getType();
  printer << " epilogue(";
  printer.printRegionArgument(getAccumulator());
  for (auto [operand, argument] :
       llvm::zip(getEpilogueOperands(), getBody()->getArguments().drop_front()))
    printer << ", " << argument << " = " << operand << ": "
            << argument.getType();
  printer << ") -> ";
  if (getNumResults() == 1)
    printer << getResultTypes();
  else
    printer << "(" << getResultTypes() << ")";
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(),
                                           {"precision", "layout"});
  printer << ' ';
  printer.printRegion(getEpilogue(), /*printEntryBlockArgs=*/false);
}

/// Parses `keyword<value>` into `attribute`, if it is there.
template <typename AttrT>
static ParseResult parseParameter(OpAsmParser &parser, StringRef keyword,
                                  AttrT &attribute) {
  if (failed(parser.parseOptionalKeyword(keyword)))
    return success();
  attribute = dyn_cast_or_null<AttrT>(AttrT::parse(parser, Type()));
  return success(attribute != nullptr);
}

/// Parses `epilogue(%acc: type, %arg = %operand: type, ...)`.
static ParseResult
parseEpilogueArguments(OpAsmParser &parser,
                       SmallVectorImpl<OpAsmParser::Argument> &arguments,
                       SmallVectorImpl<Value> &operands) {
  if (parser.parseKeyword("epilogue") || parser.parseLParen() ||
      parser.parseArgument(arguments.emplace_back(), /*allowType=*/true))
    return failure();
  while (succeeded(parser.parseOptionalComma())) {
    OpAsmParser::UnresolvedOperand operand;
    OpAsmParser::Argument &argument = arguments.emplace_back();
    if (parser.parseArgument(argument) || parser.parseEqual() ||
        parser.parseOperand(operand) || parser.parseColonType(argument.type) ||
        parser.resolveOperand(operand, argument.type, operands))
      return failure();
  }
  return parser.parseRParen();
}

ParseResult FusedLinearOp::parse(OpAsmParser &parser, OperationState &result) {
  OpAsmParser::UnresolvedOperand x, w;
  Type xType, wType;
  SmallVector<OpAsmParser::Argument> arguments;
  auto &properties = result.getOrAddProperties<Properties>();
  if (parser.parseOperand(x) || parser.parseComma() || parser.parseOperand(w) ||
      parseParameter(parser, "precision", properties.precision) ||
      parseParameter(parser, "layout", properties.layout) ||
      parser.parseColonType(xType) || parser.parseComma() ||
      parser.parseType(wType) ||
      parser.resolveOperand(x, xType, result.operands) ||
      parser.resolveOperand(w, wType, result.operands) ||
      parseEpilogueArguments(parser, arguments, result.operands) ||
      parser.parseArrowTypeList(result.types) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  if (result.attributes.get("precision"))
    return parser.emitError(parser.getNameLoc(),
                            "precision is not written among the attributes; "
                            "write precision<tf32> after w");
  if (result.attributes.get("layout"))
    return parser.emitError(parser.getNameLoc(),
                            "layout is not written among the attributes; "
                            "write layout<mk_kn> after w");
  Region *body = result.addRegion();
  if (parser.parseRegion(*body, arguments))
    return failure();
  ensureTerminator(*body, parser.getBuilder(), result.location);
  return success();
}
