//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What `tenon.epilogue` and `tenon.tiled_linear` share.
//
//===----------------------------------------------------------------------===//

#include "DestinationStyle.h"

using namespace mlir;
using namespace mlir::tenon;

LogicalResult tenon::detail::verifyDestinations(Operation *op,
                                                ValueRange outputs) {
  TypeRange operands = op->getOperandTypes();
  bool onTensors = llvm::all_of(operands, llvm::IsaPred<TensorType>);
  if (!onTensors && !llvm::all_of(operands, llvm::IsaPred<MemRefType>))
    return op->emitOpError("takes tensors or memrefs, not both: operands are (")
           << operands << ")";
  if (outputs.empty())
    return op->emitOpError("needs at least one output");
  if (onTensors && op->getResultTypes() != outputs.getTypes())
    return op->emitOpError("gives its outputs' types: expected (")
           << outputs.getTypes() << "), but has (" << op->getResultTypes()
           << ")";
  if (!onTensors && op->getNumResults() != 0)
    return op->emitOpError("on memrefs gives no results, but has (")
           << op->getResultTypes() << ")";
  return success();
}

LogicalResult tenon::detail::verifyEpilogueYield(YieldOp yield,
                                                 ValueRange outputs) {
  SmallVector<Type> expected =
      llvm::map_to_vector(outputs.getTypes(), [](Type type) -> Type {
        return EpilogueOp::getTensorType(type);
      });
  if (yield.getOperandTypes() != TypeRange(expected))
    return yield.emitOpError("must give one value for each output: "
                             "expected (")
           << expected << "), but yields (" << yield.getOperandTypes() << ")";
  return success();
}

void tenon::detail::printEpilogueInput(OpAsmPrinter &printer,
                                       BlockArgument argument, Value input) {
  printer << argument << " = " << input << ": " << input.getType();
}

void tenon::detail::printEpilogueOutputs(OpAsmPrinter &printer,
                                         ValueRange outputs) {
  printer << " outs(";
  llvm::interleaveComma(outputs, printer, [&](Value output) {
    printer << output << ": " << output.getType();
  });
  printer << ")";
}

ParseResult tenon::detail::parseEpilogueInput(
    OpAsmParser &parser, SmallVectorImpl<OpAsmParser::Argument> &arguments,
    SmallVectorImpl<Value> &inputs) {
  OpAsmParser::UnresolvedOperand operand;
  Type type;
  SMLoc loc;
  OpAsmParser::Argument &argument = arguments.emplace_back();
  if (parser.parseArgument(argument) || parser.parseEqual() ||
      parser.parseOperand(operand) || parser.getCurrentLocation(&loc) ||
      parser.parseColonType(type) ||
      parser.resolveOperand(operand, type, inputs))
    return failure();
  if (!isa<RankedTensorType, MemRefType>(type))
    return parser.emitError(loc) << "expected a ranked tensor or memref, but "
                                    "got "
                                 << type;
  argument.type = EpilogueOp::getTensorType(type);
  return success();
}

ParseResult
tenon::detail::parseEpilogueOutputs(OpAsmParser &parser,
                                    SmallVectorImpl<Value> &outputs) {
  auto output = [&]() -> ParseResult {
    OpAsmParser::UnresolvedOperand operand;
    Type type;
    if (parser.parseOperand(operand) || parser.parseColonType(type))
      return failure();
    return parser.resolveOperand(operand, type, outputs);
  };
  return failure(
      parser.parseKeyword("outs") ||
      parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, output));
}

FailureOr<SmallVector<Value>> tenon::detail::getOperandBuffers(
    Operation *op, RewriterBase &rewriter,
    const bufferization::BufferizationOptions &options,
    bufferization::BufferizationState &state) {
  SmallVector<Value> buffers;
  for (Value operand : op->getOperands()) {
    FailureOr<Value> buffer =
        bufferization::getBuffer(rewriter, operand, options, state);
    if (failed(buffer))
      return failure();
    buffers.push_back(*buffer);
  }
  return buffers;
}

FailureOr<SmallVector<Value>> tenon::detail::allocateResults(
    Operation *op, ValueRange extents, RewriterBase &rewriter,
    const bufferization::BufferizationOptions &options) {
  SmallVector<Value> buffers;
  for (Type type : op->getResultTypes()) {
    auto tensor = cast<RankedTensorType>(type);
    FailureOr<Value> buffer = options.createAlloc(
        rewriter, op->getLoc(),
        MemRefType::get(tensor.getShape(), tensor.getElementType()), extents);
    if (failed(buffer))
      return failure();
    buffers.push_back(*buffer);
  }
  return buffers;
}
