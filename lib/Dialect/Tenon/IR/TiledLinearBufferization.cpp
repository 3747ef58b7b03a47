//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How `tenon.tiled_linear` moves from tensors to buffers.
//
//===----------------------------------------------------------------------===//

#include "DestinationStyle.h"

#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"

using namespace mlir;
using namespace mlir::tenon;

/// Whether moments are written to an output.
static bool isMoments(TiledLinearOp op, OpOperand &output) {
  Value yielded =
      op.getYield().getValues()[op.getTiedOpResult(&output).getResultNumber()];
  return isa_and_nonnull<MomentsOp>(yielded.getDefiningOp());
}

namespace {
struct TiledLinearBufferization
    : bufferization::DstBufferizableOpInterfaceExternalModel<
          TiledLinearBufferization, TiledLinearOp> {
  /// The workspace holds nothing that anyone reads after the kernel, so that
  /// all layers may share it without copies. Outputs are read where some tiles
  /// of them are kept.
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand,
                              const bufferization::AnalysisState &) const {
    auto tiled = cast<TiledLinearOp>(op);
    if (tiled.isDpsInit(&operand))
      return tiled.isGuarded();
    return operand.get() != tiled.getWorkspace();
  }

  /// A thread reads an input [M, N] at an element before it writes the outputs
  /// there, and running statistics before their new values. What is read by
  /// many threads (x, w, a bias) must not be overwritten, and moments are
  /// written before other tiles' inputs are read.
  bool bufferizesToElementwiseAccess(Operation *op,
                                     const bufferization::AnalysisState &,
                                     ArrayRef<OpOperand *> operands) const {
    auto tiled = cast<TiledLinearOp>(op);
    SmallVector<int64_t> shape = tiled.getProductShape();
    auto [begin, size] = tiled.getODSOperandIndexAndLength(5);
    return llvm::all_of(operands, [&, begin = int64_t(begin),
                                   size = int64_t(size)](OpOperand *operand) {
      if (tiled.isDpsInit(operand))
        return !isMoments(tiled, *operand);
      int64_t input = operand->getOperandNumber() - begin;
      if (input < 0 || input >= size)
        return false;
      return cast<ShapedType>(operand->get().getType()).getShape() ==
                 ArrayRef(shape) ||
             tenon::detail::isRunningStatistic(
                 tiled.getInputArguments()[input]);
    });
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const bufferization::BufferizationOptions &options,
                          bufferization::BufferizationState &state) const {
    auto tiled = cast<TiledLinearOp>(op);
    if (!tiled.isOnTensors())
      return success();
    FailureOr<SmallVector<Value>> buffers =
        tenon::detail::getOperandBuffers(op, rewriter, options, state);
    if (failed(buffers))
      return failure();
    ValueRange all(*buffers);
    auto slice = [&](unsigned group) {
      auto [begin, size] = tiled.getODSOperandIndexAndLength(group);
      return all.slice(begin, size);
    };
    ValueRange outputs = slice(6);
    // Made behind the rewriter's back, as for `tenon.epilogue`.
    OpBuilder builder(op);
    auto replacement = TiledLinearOp::create(
        builder, op->getLoc(), all[0], all.slice(1, tiled.getNumWeights()),
        slice(4), slice(5), outputs,
        tiled.getWorkspace() ? all.back() : Value(), tiled.getSchedule(),
        tiled.getLayoutAttr());
    replacement.getFurtherTermsMutable().assign(slice(3));
    IRMapping mapping;
    tiled.getEpilogue().cloneInto(&replacement.getEpilogue(), mapping);
    bufferization::replaceOpWithBufferizedValues(rewriter, op, outputs);
    return success();
  }
};
} // namespace

void tenon::detail::attachTiledLinearBufferization(MLIRContext &context) {
  TiledLinearOp::attachInterface<TiledLinearBufferization>(context);
}
