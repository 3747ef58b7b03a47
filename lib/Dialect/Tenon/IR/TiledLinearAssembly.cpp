//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tiled linear op: how it is printed and parsed.
//
//===----------------------------------------------------------------------===//

#include "DestinationStyle.h"

#include "tenon/Dialect/Tenon/IR/Tenon.h"

using namespace mlir;
using namespace mlir::tenon;

void TiledLinearOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getX() << ", " << getWeights();
  if (getLayout())
    printer << " layout" << "<" << stringifyOperandLayout(*getLayout()) << ">";
  printer << " : " << getX().getType() << ", " << getWeights().getTypes();
  if (!getFurtherTerms().empty())
    printer << " plus(" << getFurtherTerms() << " : "
            << getFurtherTerms().getTypes() << ")";
  if (!getFactors().empty())
    printer << " factors(" << getFactors() << " : " << getFactors().getTypes()
            << ")";
  printer << " epilogue(";
  llvm::interleaveComma(getAccumulators(), printer, [&](BlockArgument product) {
    printer.printRegionArgument(product);
  });
  for (auto [input, argument] : llvm::zip(getInputs(), getInputArguments())) {
    printer << ", ";
    tenon::detail::printEpilogueInput(printer, argument, input);
  }
  printer << ")";
  tenon::detail::printEpilogueOutputs(printer, getOutputs());
  if (Value workspace = getWorkspace())
    printer << " workspace(" << workspace << ": " << workspace.getType() << ")";
  printer << " schedule";
  printer.printStrippedAttrOrType(getSchedule());
  printer.printOptionalArrowTypeList(getResultTypes());
  printer.printOptionalAttrDictWithKeyword(
      (*this)->getAttrs(), {"operandSegmentSizes", "schedule", "layout"});
  printer << ' ';
  printer.printRegion(getEpilogue(), /*printEntryBlockArgs=*/false);
}

/// Parses `layout<...>` if it is there.
static ParseResult parseLayout(OpAsmParser &parser, OperandLayoutAttr &layout) {
  if (failed(parser.parseOptionalKeyword("layout")))
    return success();
  layout = dyn_cast_or_null<OperandLayoutAttr>(
      OperandLayoutAttr::parse(parser, Type()));
  return success(layout != nullptr);
}

/// Parses `%x, %w : type, type`, with further weights and their types perhaps,
/// and a layout before the colon.
static ParseResult parseMatrices(OpAsmParser &parser,
                                 SmallVectorImpl<Value> &operands,
                                 OperandLayoutAttr &layout) {
  OpAsmParser::UnresolvedOperand x;
  SmallVector<OpAsmParser::UnresolvedOperand> weights;
  SmallVector<Type> types;
  if (parser.parseOperand(x) || parser.parseComma())
    return failure();
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseOperandList(weights) || parseLayout(parser, layout) ||
      parser.parseColonTypeList(types))
    return failure();
  if (weights.empty())
    return parser.emitError(loc, "expected w behind x");
  weights.insert(weights.begin(), x);
  return parser.resolveOperands(weights, types, loc, operands);
}

/// Parses `keyword(%x, %w : type, type)` if it is there.
static ParseResult parseGroup(OpAsmParser &parser, StringRef keyword,
                              SmallVectorImpl<Value> &values) {
  if (failed(parser.parseOptionalKeyword(keyword)))
    return success();
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  SmallVector<Type> types;
  SMLoc loc = parser.getCurrentLocation();
  return failure(parser.parseLParen() || parser.parseOperandList(operands) ||
                 parser.parseColonTypeList(types) ||
                 parser.resolveOperands(operands, types, loc, values) ||
                 parser.parseRParen());
}

/// Parses `epilogue(%acc: type, %arg = %input: type, ...)`, with a product
/// argument for each of `weights`.
static ParseResult
parseArguments(OpAsmParser &parser, size_t weights,
               SmallVectorImpl<OpAsmParser::Argument> &arguments,
               SmallVectorImpl<Value> &inputs) {
  if (parser.parseKeyword("epilogue") || parser.parseLParen())
    return failure();
  for (size_t i = 0; i != weights; ++i)
    if ((i != 0 && parser.parseComma()) ||
        parser.parseArgument(arguments.emplace_back(), /*allowType=*/true))
      return failure();
  while (succeeded(parser.parseOptionalComma()))
    if (tenon::detail::parseEpilogueInput(parser, arguments, inputs))
      return failure();
  return parser.parseRParen();
}

/// Parses `workspace(%ws: type)` if it is there.
static ParseResult parseWorkspace(OpAsmParser &parser,
                                  SmallVectorImpl<Value> &workspace) {
  if (failed(parser.parseOptionalKeyword("workspace")))
    return success();
  OpAsmParser::UnresolvedOperand operand;
  Type type;
  return failure(parser.parseLParen() || parser.parseOperand(operand) ||
                 parser.parseColonType(type) ||
                 parser.resolveOperand(operand, type, workspace) ||
                 parser.parseRParen());
}

ParseResult TiledLinearOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<Value> terms, factors, inputs, outputs, workspace;
  auto &properties = result.getOrAddProperties<Properties>();
  if (parseMatrices(parser, result.operands, properties.layout))
    return failure();
  size_t weights = result.operands.size() - 1;
  if (parseGroup(parser, "plus", terms) ||
      parseGroup(parser, "factors", factors) ||
      parseArguments(parser, weights, arguments, inputs) ||
      tenon::detail::parseEpilogueOutputs(parser, outputs) ||
      parseWorkspace(parser, workspace) || parser.parseKeyword("schedule"))
    return failure();
  auto schedule =
      dyn_cast_or_null<ScheduleAttr>(ScheduleAttr::parse(parser, Type()));
  if (!schedule || parser.parseOptionalArrowTypeList(result.types) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  SmallVector<int32_t> sizes{1, 1, static_cast<int32_t>(weights) - 1};
  for (ArrayRef<Value> operands :
       {ArrayRef(terms), ArrayRef(factors), ArrayRef(inputs), ArrayRef(outputs),
        ArrayRef(workspace)}) {
    result.addOperands(operands);
    sizes.push_back(static_cast<int32_t>(operands.size()));
  }
  properties.schedule = schedule;
  llvm::copy(sizes, properties.operandSegmentSizes.begin());
  Region *body = result.addRegion();
  if (parser.parseRegion(*body, arguments))
    return failure();
  ensureTerminator(*body, parser.getBuilder(), result.location);
  return success();
}
