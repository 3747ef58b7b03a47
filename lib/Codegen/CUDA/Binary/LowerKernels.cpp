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
#include "tenon/Dialect/Tenon/IR/NarrowFloats.h"

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
#include "mlir/IR/Threading.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace mlir::tenon {
#define GEN_PASS_DEF_TENONLOWERKERNELS
#include "tenon/Codegen/CUDA/Passes.h.inc"
} // namespace mlir::tenon

using namespace mlir;

namespace {
template <typename MathOp, typename LLVMOp>
struct ToIntrinsic : OpConversionPattern<MathOp> {
  using OpConversionPattern<MathOp>::OpConversionPattern;

  LogicalResult
  matchAndRewrite(MathOp op, typename MathOp::Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<LLVMOp>(op, adaptor.getOperand());
    return success();
  }
};

/// LLVM's square root rounds correctly; libdevice's is approximate by default.
using SqrtToLLVM = ToIntrinsic<math::SqrtOp, LLVM::SqrtOp>;
/// Upstream has no function of libdevice for it.
using TruncToLLVM = ToIntrinsic<math::TruncOp, LLVM::FTruncOp>;

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
  /// Each kernel by itself, side by side; but not math, whose functions are
  /// declared in the module.
  void runOnOperation() override {
    tenon::expandNarrowFloats(getOperation());
    LLVMTypeConverter converter(&getContext());
    FrozenRewritePatternSet toBranches = makeLoopPatterns(),
                            toLLVM = makeLLVMPatterns(converter);
    auto lower = [&](FunctionOpInterface kernel) {
      return failure(failed(lowerLoops(kernel, toBranches)) ||
                     failed(lowerToLLVM(kernel, toLLVM)));
    };
    auto kernels =
        llvm::to_vector(getOperation().getOps<FunctionOpInterface>());
    if (failed(lowerMath(converter)) ||
        failed(failableParallelForEach(&getContext(), kernels, lower)))
      signalPassFailure();
  }

private:
  LogicalResult lowerMath(const LLVMTypeConverter &converter) {
    RewritePatternSet patterns(&getContext());
    populateLibDeviceConversionPatterns(converter, patterns);
    patterns.add<SqrtToLLVM, TruncToLLVM, Exp2ToNVVM>(converter, &getContext(),
                                                      /*benefit=*/2);
    ConversionTarget target(getContext());
    target.addIllegalDialect<math::MathDialect>();
    target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
    return applyPartialConversion(getOperation(), target, std::move(patterns));
  }

  FrozenRewritePatternSet makeLoopPatterns() {
    RewritePatternSet patterns(&getContext());
    populateSCFToControlFlowConversionPatterns(patterns);
    return FrozenRewritePatternSet(std::move(patterns));
  }

  LogicalResult lowerLoops(Operation *kernel,
                           const FrozenRewritePatternSet &patterns) {
    ConversionTarget target(getContext());
    target.addIllegalDialect<scf::SCFDialect>();
    target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
    return applyPartialConversion(kernel, target, patterns);
  }

  FrozenRewritePatternSet makeLLVMPatterns(const LLVMTypeConverter &converter) {
    RewritePatternSet patterns(&getContext());
    arith::populateArithToLLVMConversionPatterns(converter, patterns);
    cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
    populateVectorToLLVMConversionPatterns(converter, patterns);
    return FrozenRewritePatternSet(std::move(patterns));
  }

  LogicalResult lowerToLLVM(Operation *kernel,
                            const FrozenRewritePatternSet &patterns) {
    LLVMConversionTarget target(getContext());
    target.addLegalDialect<NVVM::NVVMDialect>();
    return applyFullConversion(kernel, target, patterns);
  }
};
} // namespace
