//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// --tenon-lower-kernels: a kernel's arith, math, scf and vector ops to LLVM and
// NVVM.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/CUDA/Passes.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::tenon {
#define GEN_PASS_DEF_TENONLOWERKERNELS
#include "tenon/Codegen/CUDA/Passes.h.inc"
} // namespace mlir::tenon

using namespace mlir;

namespace {
/// LLVM's square root rounds correctly; libdevice's is approximate by default.
struct SqrtToLLVM : OpConversionPattern<math::SqrtOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(math::SqrtOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<LLVM::SqrtOp>(op, adaptor.getOperand());
    return success();
  }
};

/// The GPU's instruction alone, which flushes subnormal results to 0; to keep
/// them, libdevice's function takes three more.
struct Exp2ToNVVM : OpConversionPattern<math::Exp2Op> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(math::Exp2Op op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Type type = adaptor.getOperand().getType();
    if (!type.isF32())
      return failure();
    rewriter.replaceOpWithNewOp<LLVM::CallIntrinsicOp>(
        op, type, rewriter.getStringAttr("llvm.nvvm.ex2.approx.ftz.f32"),
        adaptor.getOperand());
    return success();
  }
};

struct LowerKernels : tenon::impl::TenonLowerKernelsBase<LowerKernels> {
  void runOnOperation() override {
    if (failed(lowerLoops()) || failed(lowerToLLVM()))
      signalPassFailure();
  }

private:
  LogicalResult lowerLoops() {
    RewritePatternSet patterns(&getContext());
    populateSCFToControlFlowConversionPatterns(patterns);
    ConversionTarget target(getContext());
    target.addIllegalDialect<scf::SCFDialect>();
    target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
    return applyPartialConversion(getOperation(), target, std::move(patterns));
  }

  LogicalResult lowerToLLVM() {
    LLVMTypeConverter converter(&getContext());
    RewritePatternSet patterns(&getContext());
    arith::populateArithToLLVMConversionPatterns(converter, patterns);
    cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
    populateVectorToLLVMConversionPatterns(converter, patterns);
    populateLibDeviceConversionPatterns(converter, patterns);
    patterns.add<SqrtToLLVM, Exp2ToNVVM>(converter, &getContext(),
                                         /*benefit=*/2);
    LLVMConversionTarget target(getContext());
    target.addLegalOp<gpu::GPUModuleOp>();
    target.addLegalDialect<NVVM::NVVMDialect>();
    return applyFullConversion(getOperation(), target, std::move(patterns));
  }
};
} // namespace
