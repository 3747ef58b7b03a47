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

#include "DestinationStyle.h"

#include "tenon/Dialect/Tenon/IR/EpilogueOps.h"
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
  return tenon::detail::verifyDestinations(*this, getOutputs());
}

/// Whether an op maps elements to elements, or is a constant that is the same
/// everywhere.
static bool canBeInEpilogue(Operation &op) {
  if (isEpilogueOp(&op))
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
  return tenon::detail::verifyEpilogueYield(getYield(), getOutputs());
}

//===----------------------------------------------------------------------===//
// Assembly
//===----------------------------------------------------------------------===//

void EpilogueOp::print(OpAsmPrinter &printer) {
  printer << " ins(";
  llvm::interleaveComma(llvm::zip(getInputs(), getBody()->getArguments()),
                        printer, [&](auto pair) {
                          auto [input, argument] = pair;
                          tenon::detail::printEpilogueInput(printer, argument,
                                                            input);
                        });
  printer << ")";
  tenon::detail::printEpilogueOutputs(printer, getOutputs());
  printer.printOptionalArrowTypeList(getResultTypes());
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(),
                                           {"operandSegmentSizes"});
  printer << ' ';
  printer.printRegion(getEpilogue(), /*printEntryBlockArgs=*/false);
}

ParseResult EpilogueOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<Value> inputs, outputs;
  auto input = [&] {
    return tenon::detail::parseEpilogueInput(parser, arguments, inputs);
  };
  if (parser.parseKeyword("ins") ||
      parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, input) ||
      tenon::detail::parseEpilogueOutputs(parser, outputs) ||
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

bool tenon::detail::isRunningStatistic(BlockArgument argument) {
  return llvm::all_of(argument.getUses(), [](OpOperand &use) {
    auto norm = dyn_cast<BatchNormTrainingOp>(use.getOwner());
    return norm &&
           (norm.getRunningMean() == use.get() ||
            norm.getRunningVar() == use.get()) &&
           norm.getInput() != use.get() && norm.getWeight() != use.get() &&
           norm.getBias() != use.get() && norm.getMoments() != use.get() &&
           llvm::all_of(norm.getNewStatistics(), [](Value statistic) {
             return llvm::all_of(statistic.getUsers(), llvm::IsaPred<YieldOp>);
           });
  });
}

/// Whether an input holds moments: every thread of a column reads all of them.
static bool isMoments(BlockArgument argument) {
  return llvm::any_of(argument.getUsers(), [&](Operation *user) {
    auto norm = dyn_cast<BatchNormTrainingOp>(user);
    return norm && norm.getMoments() == argument;
  });
}

/// The extents over which the epilogue's kernel runs: those of its largest
/// value.
static ArrayRef<int64_t> getLargestShape(EpilogueOp op) {
  ArrayRef<int64_t> largest;
  auto visit = [&](Type type) {
    auto shape = cast<RankedTensorType>(type).getShape();
    // Of matrices those of groups have fewer columns.
    auto isLarger = [&] {
      if (shape.size() != largest.size())
        return shape.size() > largest.size();
      auto ones = llvm::count(shape, 1), others = llvm::count(largest, 1);
      return ones < others || (ones == others && !shape.empty() &&
                               shape.back() > largest.back());
    };
    if (isLarger())
      largest = shape;
  };
  for (BlockArgument argument : op.getBody()->getArguments())
    if (!isMoments(argument))
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
  /// there. What is read by many threads (a bias, moments) must not be
  /// overwritten.
  bool bufferizesToElementwiseAccess(Operation *op,
                                     const bufferization::AnalysisState &,
                                     ArrayRef<OpOperand *> operands) const {
    auto epilogue = cast<EpilogueOp>(op);
    ArrayRef<int64_t> largest = getLargestShape(epilogue);
    return llvm::all_of(operands, [&](OpOperand *operand) {
      if (epilogue.isDpsInit(operand))
        return true;
      BlockArgument argument =
          epilogue.getBody()->getArgument(operand->getOperandNumber());
      auto type = cast<RankedTensorType>(argument.getType());
      return (type.getShape() == largest && !isMoments(argument)) ||
             tenon::detail::isRunningStatistic(argument);
    });
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const bufferization::BufferizationOptions &options,
                          bufferization::BufferizationState &state) const {
    auto epilogue = cast<EpilogueOp>(op);
    if (!epilogue.isOnTensors())
      return success();
    FailureOr<SmallVector<Value>> buffers =
        tenon::detail::getOperandBuffers(op, rewriter, options, state);
    if (failed(buffers))
      return failure();
    ValueRange all(*buffers);
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
  attachProductMomentsBufferization(context);
  attachScaleBlocksBufferization(context);
  attachSplitBufferization(context);
  attachTiledLinearBufferization(context);
}
