//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The last lowering of host code: everything to the LLVM dialect.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/CUDA/HostToLLVM.h"
#include "tenon/Codegen/Host/Passes.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace mlir::tenon {
#define GEN_PASS_DEF_TENONHOSTTOLLVM
#include "tenon/Codegen/Host/Passes.h.inc"
} // namespace mlir::tenon

using namespace mlir;

namespace {
/// memref.copy of contiguous buffers → tenonCopy on the call's stream.
struct CopyToRuntime : ConvertOpToLLVMPattern<memref::CopyOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult
  matchAndRewrite(memref::CopyOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto type = cast<MemRefType>(op.getSource().getType());
    MemRefDescriptor source(adaptor.getSource()), target(adaptor.getTarget());
    Value bytes = sizeInBytes(loc, type, source, rewriter);
    return tenon::callRuntime(rewriter, op, "tenonCopy",
                              {target.alignedPtr(rewriter, loc),
                               source.alignedPtr(rewriter, loc), bytes});
  }

  static Value sizeInBytes(Location loc, MemRefType type,
                           MemRefDescriptor &descriptor,
                           ConversionPatternRewriter &rewriter) {
    Value bytes = LLVM::ConstantOp::create(
        rewriter, loc,
        rewriter.getI64IntegerAttr(
            type.getElementType().getIntOrFloatBitWidth() / 8));
    for (int64_t i = 0, rank = type.getRank(); i != rank; ++i)
      bytes = LLVM::MulOp::create(rewriter, loc, bytes,
                                  descriptor.size(rewriter, loc, i));
    return bytes;
  }
};

struct TenonHostToLLVM : tenon::impl::TenonHostToLLVMBase<TenonHostToLLVM> {
  void runOnOperation() override {
    MLIRContext *context = &getContext();
    LLVMTypeConverter converter(context);
    RewritePatternSet patterns(context);
    arith::populateArithToLLVMConversionPatterns(converter, patterns);
    cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
    index::populateIndexToLLVMConversionPatterns(converter, patterns);
    populateFinalizeMemRefToLLVMConversionPatterns(converter, patterns);
    populateFuncToLLVMConversionPatterns(converter, patterns);
    populateMathToLLVMConversionPatterns(converter, patterns);
    ub::populateUBToLLVMConversionPatterns(converter, patterns);
    tenon::populateCudaHostToLLVMPatterns(converter, patterns);
    patterns.add<CopyToRuntime>(converter, /*benefit=*/2);

    LLVMConversionTarget target(*context);
    target.addLegalOp<ModuleOp>();
    // Kernels are compiled apart (KernelCompilation).
    target.addLegalOp<gpu::GPUModuleOp, gpu::BinaryOp>();
    target.markOpRecursivelyLegal<gpu::GPUModuleOp>();
    if (failed(
            applyFullConversion(getOperation(), target, std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
