//===- DestinationStyle.h - What ops with outputs share ---------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Verification, assembly and bufferization that `tenon.epilogue` and
// `tenon.tiled_linear` have in common: inputs that the region's arguments stand
// for, outputs, and results where the outputs are tensors.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_DIALECT_TENON_IR_DESTINATIONSTYLE_H
#define TENON_LIB_DIALECT_TENON_IR_DESTINATIONSTYLE_H

#include "tenon/Dialect/Tenon/IR/Tenon.h"

#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"

namespace mlir::tenon::detail {

/// Parses `%arg = %input: type` and resolves the input.
ParseResult
parseEpilogueInput(OpAsmParser &parser,
                   SmallVectorImpl<OpAsmParser::Argument> &arguments,
                   SmallVectorImpl<Value> &inputs);
void printEpilogueInput(OpAsmPrinter &printer, BlockArgument argument,
                        Value input);

/// Parses `outs(%output: type, ...)` and resolves the outputs.
ParseResult parseEpilogueOutputs(OpAsmParser &parser,
                                 SmallVectorImpl<Value> &outputs);
void printEpilogueOutputs(OpAsmPrinter &printer, ValueRange outputs);

/// Checks that the operands are all tensors or all memrefs, that there is an
/// output, and that the results are the outputs that are tensors.
LogicalResult verifyDestinations(Operation *op, ValueRange outputs);

/// Checks that the region's yield gives one value for each output.
LogicalResult verifyEpilogueYield(YieldOp yield, ValueRange outputs);

/// Whether an argument of an epilogue feeds nothing but the running statistics
/// of a batch norm, whose new values are only yielded: one thread a feature
/// reads it and writes its new value.
bool isRunningStatistic(BlockArgument argument);

/// The buffers of an op's operands, in their order.
FailureOr<SmallVector<Value>>
getOperandBuffers(Operation *op, RewriterBase &rewriter,
                  const bufferization::BufferizationOptions &options,
                  bufferization::BufferizationState &state);

/// What one-shot bufferization asks of an op on tensors that reads its operands
/// and gives results in new buffers. A model derives from it and bufferizes.
template <typename Model, typename OpTy>
struct NewBuffersModel
    : bufferization::BufferizableOpInterface::ExternalModel<Model, OpTy> {
  bool bufferizesToAllocation(Operation *, Value) const { return true; }
  bool bufferizesToMemoryRead(Operation *, OpOperand &,
                              const bufferization::AnalysisState &) const {
    return true;
  }
  bool bufferizesToMemoryWrite(Operation *, OpOperand &,
                               const bufferization::AnalysisState &) const {
    return false;
  }
  bufferization::AliasingValueList
  getAliasingValues(Operation *, OpOperand &,
                    const bufferization::AnalysisState &) const {
    return {};
  }
};

/// New buffers for an op's results; `extents` are the dynamic ones of each.
FailureOr<SmallVector<Value>>
allocateResults(Operation *op, ValueRange extents, RewriterBase &rewriter,
                const bufferization::BufferizationOptions &options);

/// Lets one-shot bufferization see `tenon.product_moments`.
void attachProductMomentsBufferization(MLIRContext &context);

/// Lets one-shot bufferization see `tenon.scale_blocks`.
void attachScaleBlocksBufferization(MLIRContext &context);

/// Lets one-shot bufferization see `tenon.split`.
void attachSplitBufferization(MLIRContext &context);

/// Lets one-shot bufferization see `tenon.tiled_linear`.
void attachTiledLinearBufferization(MLIRContext &context);

} // namespace mlir::tenon::detail

#endif // TENON_LIB_DIALECT_TENON_IR_DESTINATIONSTYLE_H
