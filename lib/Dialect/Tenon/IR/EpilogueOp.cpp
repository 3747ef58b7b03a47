//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The epilogue op: verification, assembly, bufferization.
//
//===----------------------------------------------------------------------===//

#include "tenon/Dialect/Tenon/IR/Tenon.h"

#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"

using namespace mlir;
using namespace mlir::tenon;

//===----------------------------------------------------------------------===//
// Building, queries
//===----------------------------------------------------------------------===//

void EpilogueOp::build(OpBuilder &builder, OperationState &state,
                       ValueRange inputs, ValueRange outputs) {
  state.addOperands(inputs);
  state.addOperands(outputs);
  state.getOrAddProperties<Properties>().operandSegmentSizes = {
      static_cast<int32_t>(inputs.size()),
      static_cast<int32_t>(outputs.size())};
  for (Type type : outputs.getTypes())
    if (isa<TensorType>(type))
      state.addTypes(type);
  state.addRegion();
}

YieldOp EpilogueOp::getYield() {
  return cast<YieldOp>(getBody()->getTerminator());
}

bool EpilogueOp::isOnTensors() {
  return llvm::all_of(getOperandTypes(), llvm::IsaPred<TensorType>);
}

RankedTensorType EpilogueOp::getTensorType(Type type) {
  auto shaped = cast<ShapedType>(type);
  return RankedTensorType::get(shaped.getShape(), shaped.getElementType());
}

void EpilogueOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  auto *resource = SideEffects::DefaultResource::get();
  for (OpOperand &operand : getInputsMutable())
    if (isa<MemRefType>(operand.get().getType()))
      effects.emplace_back(MemoryEffects::Read::get(), &operand, resource);
  for (OpOperand &operand : getOutputsMutable())
    if (isa<MemRefType>(operand.get().getType()))
      effects.emplace_back(MemoryEffects::Write::get(), &operand, resource);
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

LogicalResult EpilogueOp::verify() {
  bool onMemRefs = llvm::all_of(getOperandTypes(), llvm::IsaPred<MemRefType>);
  if (!isOnTensors() && !onMemRefs)
    return emitOpError("takes tensors or memrefs, not both: operands are (")
           << getOperandTypes() << ")";
  if (getOutputs().empty())
    return emitOpError("needs at least one output");
  if (isOnTensors() && getResultTypes() != getOutputs().getTypes())
    return emitOpError("gives its outputs' types: expected (")
           << getOutputs().getTypes() << "), but has (" << getResultTypes()
           << ")";
  if (onMemRefs && getNumResults() != 0)
    return emitOpError("on memrefs gives no results, but has (")
           << getResultTypes() << ")";
  return success();
}

/// Whether an op maps elements to elements, or is a constant that is the same
/// everywhere.
static bool canBeInEpilogue(Operation &op) {
  if (isa<ElementwiseEpilogueOp, ReductionEpilogueOp>(op))
    return true;
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return isa<SplatElementsAttr>(constant.getValue());
  return OpTrait::hasElementwiseMappableTraits(&op) &&
         op.getNumResults() == 1 &&
         llvm::all_of(op.getOperandTypes(), llvm::IsaPred<RankedTensorType>);
}

LogicalResult EpilogueOp::verifyRegions() {
  Block *body = getBody();
  if (body->getNumArguments() != getInputs().size())
    return emitOpError("region must take one argument for each input: "
                       "expected ")
           << getInputs().size() << ", but it has " << body->getNumArguments();
  for (auto [input, argument] : llvm::zip(getInputs(), body->getArguments()))
    if (getTensorType(input.getType()) != argument.getType())
      return emitOpError("argument #")
             << argument.getArgNumber() << " stands for an input of type "
             << input.getType() << ", but is " << argument.getType();
  for (Operation &op : body->without_terminator())
    if (!canBeInEpilogue(op))
      return op.emitOpError("cannot be in an epilogue: it is neither "
                            "elementwise, nor a reduction of the tenon "
                            "dialect, nor a splat constant");
  SmallVector<Type> expected =
      llvm::map_to_vector(getOutputs().getTypes(), [](Type type) -> Type {
        return getTensorType(type);
      });
  if (getYield().getOperandTypes() != TypeRange(expected))
    return getYield().emitOpError("must give one value for each output: "
                                  "expected (")
           << expected << "), but yields (" << getYield().getOperandTypes()
           << ")";
  return success();
}

//===----------------------------------------------------------------------===//
// Assembly
//===----------------------------------------------------------------------===//

void EpilogueOp::print(OpAsmPrinter &printer) {
  printer << " ins(";
  llvm::interleaveComma(llvm::zip(getInputs(), getBody()->getArguments()),
                        printer, [&](auto pair) {
                          auto [input, argument] = pair;
                          printer << argument << " = " << input << ": "
                                  << input.getType();
                        });
  printer << ") outs(";
  llvm::interleaveComma(getOutputs(), printer, [&](Value output) {
    printer << output << ": " << output.getType();
  });
  printer << ")";
  printer.printOptionalArrowTypeList(getResultTypes());
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(),
                                           {"operandSegmentSizes"});
  printer << ' ';
  printer.printRegion(getEpilogue(), /*printEntryBlockArgs=*/false);
}

/// Parses `%arg = %input: type` and resolves the input.
static ParseResult parseInput(OpAsmParser &parser,
                              SmallVectorImpl<OpAsmParser::Argument> &arguments,
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

ParseResult EpilogueOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<Value> inputs, outputs;
  auto input = [&] { return parseInput(parser, arguments, inputs); };
  auto output = [&]() -> ParseResult {
    OpAsmParser::UnresolvedOperand operand;
    Type type;
    if (parser.parseOperand(operand) || parser.parseColonType(type))
      return failure();
    return parser.resolveOperand(operand, type, outputs);
  };
  using Delimiter = OpAsmParser::Delimiter;
  if (parser.parseKeyword("ins") ||
      parser.parseCommaSeparatedList(Delimiter::Paren, input) ||
      parser.parseKeyword("outs") ||
      parser.parseCommaSeparatedList(Delimiter::Paren, output) ||
      parser.parseOptionalArrowTypeList(result.types) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  result.addOperands(inputs);
  result.addOperands(outputs);
  result.getOrAddProperties<Properties>().operandSegmentSizes = {
      static_cast<int32_t>(inputs.size()),
      static_cast<int32_t>(outputs.size())};
  Region *body = result.addRegion();
  if (parser.parseRegion(*body, arguments))
    return failure();
  ensureTerminator(*body, parser.getBuilder(), result.location);
  return success();
}

//===----------------------------------------------------------------------===//
// Bufferization
//===----------------------------------------------------------------------===//

/// Whether an input feeds nothing but the running statistics of a batch norm:
/// one thread a feature reads it and writes its new value.
static bool isRunningStatistic(BlockArgument argument) {
  return llvm::all_of(argument.getUses(), [](OpOperand &use) {
    auto norm = dyn_cast<BatchNormTrainingOp>(use.getOwner());
    return norm &&
           (norm.getRunningMean() == use.get() ||
            norm.getRunningVar() == use.get()) &&
           norm.getInput() != use.get() && norm.getWeight() != use.get() &&
           norm.getBias() != use.get() &&
           llvm::all_of(norm.getNewStatistics(), [](Value statistic) {
             return llvm::all_of(statistic.getUsers(), llvm::IsaPred<YieldOp>);
           });
  });
}

/// The extents over which the epilogue's kernel runs: those of its largest
/// value.
static ArrayRef<int64_t> getLargestShape(EpilogueOp op) {
  ArrayRef<int64_t> largest;
  auto visit = [&](Type type) {
    auto shape = cast<RankedTensorType>(type).getShape();
    if (shape.size() > largest.size() ||
        (shape.size() == largest.size() &&
         llvm::count(shape, 1) < llvm::count(largest, 1)))
      largest = shape;
  };
  for (BlockArgument argument : op.getBody()->getArguments())
    visit(argument.getType());
  for (Operation &nested : op.getBody()->without_terminator())
    llvm::for_each(nested.getResultTypes(), visit);
  return largest;
}

namespace {
struct EpilogueBufferization
    : bufferization::DstBufferizableOpInterfaceExternalModel<
          EpilogueBufferization, EpilogueOp> {
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand,
                              const bufferization::AnalysisState &) const {
    return !cast<EpilogueOp>(op).isDpsInit(&operand);
  }

  /// A thread reads all inputs at an element before it writes the outputs
  /// there. What is read by many threads (a bias) must not be overwritten.
  bool bufferizesToElementwiseAccess(Operation *op,
                                     const bufferization::AnalysisState &,
                                     ArrayRef<OpOperand *> operands) const {
    auto epilogue = cast<EpilogueOp>(op);
    ArrayRef<int64_t> largest = getLargestShape(epilogue);
    return llvm::all_of(operands, [&](OpOperand *operand) {
      if (cast<ShapedType>(operand->get().getType()).getShape() == largest)
        return true;
      return epilogue.isDpsInit(operand) ||
             isRunningStatistic(
                 epilogue.getBody()->getArgument(operand->getOperandNumber()));
    });
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const bufferization::BufferizationOptions &options,
                          bufferization::BufferizationState &state) const {
    auto epilogue = cast<EpilogueOp>(op);
    if (!epilogue.isOnTensors())
      return success();
    SmallVector<Value> buffers;
    for (Value operand : op->getOperands()) {
      FailureOr<Value> buffer =
          bufferization::getBuffer(rewriter, operand, options, state);
      if (failed(buffer))
        return failure();
      buffers.push_back(*buffer);
    }
    ValueRange all(buffers);
    // The region stays on tensors. All is made behind the rewriter's back:
    // bufferization asks that every op it has seen loses its tensors, and takes
    // a new op for an old one whose address it has.
    OpBuilder builder(op);
    auto replacement = EpilogueOp::create(
        builder, op->getLoc(), all.take_front(epilogue.getInputs().size()),
        all.take_back(epilogue.getOutputs().size()));
    IRMapping mapping;
    epilogue.getEpilogue().cloneInto(&replacement.getEpilogue(), mapping);
    bufferization::replaceOpWithBufferizedValues(
        rewriter, op, all.take_back(epilogue.getOutputs().size()));
    return success();
  }
};
} // namespace

void tenon::detail::attachEpilogueBufferization(MLIRContext &context) {
  EpilogueOp::attachInterface<EpilogueBufferization>(context);
}
