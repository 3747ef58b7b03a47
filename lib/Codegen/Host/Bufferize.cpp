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

#include "tenon/Dialect/Tenon/IR/Tenon.h"

#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotModuleBufferize.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::tenon {
#define GEN_PASS_DEF_TENONBUFFERIZE
#include "tenon/Codegen/Host/Passes.h.inc"
} // namespace mlir::tenon

using namespace mlir;

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

    getOperation().walk([&](func::FuncOp function) {
      for (unsigned i = 0, e = function.getNumArguments(); i != e; ++i)
        function.removeArgAttr(i, builder.getStringAttr(kWritable));
    });
  }
};
} // namespace
