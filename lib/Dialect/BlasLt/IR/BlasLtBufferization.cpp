//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How `blaslt.run` moves from tensors to buffers.
//
//===----------------------------------------------------------------------===//

#include "tenon/Dialect/BlasLt/IR/BlasLt.h"

#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"

using namespace mlir;
using namespace mlir::blaslt;

namespace {
struct RunBufferization
    : bufferization::DstBufferizableOpInterfaceExternalModel<RunBufferization,
                                                             RunOp> {
  /// The workspace holds nothing that anyone reads, so that all runs may share
  /// it without copies.
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand,
                              const bufferization::AnalysisState &) const {
    auto run = cast<RunOp>(op);
    return !run.isDpsInit(&operand) && &operand != &run.getWorkspaceMutable();
  }

  /// cuBLASLt reads the residual at an element before it writes y there.
  bool bufferizesToElementwiseAccess(Operation *op,
                                     const bufferization::AnalysisState &,
                                     ArrayRef<OpOperand *> operands) const {
    auto run = cast<RunOp>(op);
    return llvm::all_of(operands, [&](OpOperand *operand) {
      return operand->get() == run.getResidual() || run.isDpsInit(operand);
    });
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const bufferization::BufferizationOptions &options,
                          bufferization::BufferizationState &state) const {
    auto run = cast<RunOp>(op);
    if (!run.isOnTensors())
      return success();
    auto toBuffer = [&](Value tensor) -> FailureOr<Value> {
      if (!tensor)
        return Value();
      return bufferization::getBuffer(rewriter, tensor, options, state);
    };
    FailureOr<Value> x = toBuffer(run.getX()), w = toBuffer(run.getW()),
                     xScale = toBuffer(run.getXScale()),
                     wScale = toBuffer(run.getWScale()),
                     bias = toBuffer(run.getBias()),
                     residual = toBuffer(run.getResidual()),
                     workspace = toBuffer(run.getWorkspace()),
                     y = toBuffer(run.getY());
    if (failed(x) || failed(w) || failed(xScale) || failed(wScale) ||
        failed(bias) || failed(residual) || failed(workspace) || failed(y))
      return failure();
    RunOp::create(rewriter, op->getLoc(), Type(), run.getPlan(), *x, *w,
                  *xScale, *wScale, *bias, *residual, *workspace, *y);
    bufferization::replaceOpWithBufferizedValues(rewriter, op, *y);
    return success();
  }
};
} // namespace

void blaslt::detail::attachRunBufferization(MLIRContext &context) {
  RunOp::attachInterface<RunBufferization>(context);
}
