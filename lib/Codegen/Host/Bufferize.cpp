//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One-shot bufferization with inputs that are never written.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/Host/Passes.h"

#include "tenon/Dialect/BlasLt/IR/BlasLt.h"
#include "tenon/Dialect/Tenon/IR/Tenon.h"

#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotModuleBufferize.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace mlir::tenon {
#define GEN_PASS_DEF_TENONBUFFERIZE
#include "tenon/Codegen/Host/Passes.h.inc"
} // namespace mlir::tenon

using namespace mlir;

/// Kernels and the library take bare pointers: an op of ours that reads a
/// buffer with gaps, as a slice of columns is, reads a copy without them.
static void copyStridedOperands(Operation *op) {
  OpBuilder builder(op);
  Location loc = op->getLoc();
  for (OpOperand &operand : op->getOpOperands()) {
    auto type = dyn_cast<MemRefType>(operand.get().getType());
    if (!type || type.areTrailingDimsContiguous(type.getRank()))
      continue;
    SmallVector<Value> extents;
    for (int64_t i = 0, rank = type.getRank(); i != rank; ++i)
      if (type.isDynamicDim(i))
        extents.push_back(
            memref::DimOp::create(builder, loc, operand.get(), i));
    Value copy = memref::AllocOp::create(
        builder, loc, MemRefType::get(type.getShape(), type.getElementType()),
        extents);
    memref::CopyOp::create(builder, loc, operand.get(), copy);
    operand.set(copy);
  }
}

namespace {
struct TenonBufferize : tenon::impl::TenonBufferizeBase<TenonBufferize> {
  void runOnOperation() override {
    constexpr StringLiteral kWritable =
        bufferization::BufferizationDialect::kWritableAttrName;
    Builder builder(&getContext());
    getOperation().walk([&](func::FuncOp function) {
      for (unsigned i = 0, e = function.getNumArguments(); i != e; ++i)
        function.setArgAttr(i, kWritable, builder.getBoolAttr(false));
    });

    bufferization::OneShotBufferizationOptions options;
    options.bufferizeFunctionBoundaries = true;
    options.setFunctionBoundaryTypeConversion(
        bufferization::LayoutMapOption::IdentityLayoutMap);
    // Regions of tenon ops stay on tensors: a constant in one is no global.
    options.opFilter.denyOperation([](Operation *op) {
      Operation *parent = op->getParentOp();
      return parent &&
             isa_and_present<tenon::TenonDialect>(parent->getDialect());
    });
    bufferization::BufferizationState state;
    if (failed(bufferization::runOneShotModuleBufferize(getOperation(), options,
                                                        state)))
      return signalPassFailure();

    getOperation().walk([](Operation *op) {
      if (isa<tenon::EpilogueOp, tenon::ProductMomentsOp, tenon::ScaleBlocksOp,
              tenon::SplitOp, tenon::TiledLinearOp, blaslt::RunOp>(op))
        copyStridedOperands(op);
    });
    getOperation().walk([&](func::FuncOp function) {
      for (unsigned i = 0, e = function.getNumArguments(); i != e; ++i)
        function.removeArgAttr(i, builder.getStringAttr(kWritable));
    });
  }
};
} // namespace
