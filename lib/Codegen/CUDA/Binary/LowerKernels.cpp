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
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Threading.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace mlir::tenon {
#define GEN_PASS_DEF_TENONLOWERKERNELS
#include "tenon/Codegen/CUDA/Passes.h.inc"
} // namespace mlir::tenon

using namespace mlir;

/// Inline PTX that computes a value of `type`.
static Value createPtx(ImplicitLocOpBuilder &b, Type type, ValueRange operands,
                       StringRef text, StringRef constraints) {
  return LLVM::InlineAsmOp::create(
             b, type, operands, text, constraints, /*has_side_effects=*/false,
             /*is_align_stack=*/false, LLVM::TailCallKind::None,
             LLVM::AsmDialectAttr(), ArrayAttr())
      .getResult(0);
}

/// f32 of an f8E4M3FN, by way of f16, which has its numbers. The instructions
/// convert two.
static Value extendByte(ImplicitLocOpBuilder &b, Value byte) {
  Value bits = arith::BitcastOp::create(b, b.getI8Type(), byte);
  Value pair = arith::ExtUIOp::create(b, b.getI16Type(), bits);
  Value both =
      createPtx(b, b.getI32Type(), pair, "cvt.rn.f16x2.e4m3x2 $0, $1;", "=r,h");
  Value first = arith::TruncIOp::create(b, b.getI16Type(), both);
  Value half = arith::BitcastOp::create(b, b.getF16Type(), first);
  return arith::ExtFOp::create(b, b.getF32Type(), half);
}

static Value roundToByte(ImplicitLocOpBuilder &b, Value value) {
  Value pair =
      createPtx(b, b.getI16Type(), value,
                "cvt.rn.satfinite.e4m3x2.f32 $0, 0f00000000, $1;", "=h,f");
  Value bits = arith::TruncIOp::create(b, b.getI8Type(), pair);
  return arith::BitcastOp::create(b, Float8E4M3FNType::get(b.getContext()),
                                  bits);
}

/// Has instructions convert between f32 and f8E4M3FN.
static void useByteConversions(Operation *root) {
  auto visit = [](Operation *op) {
    if (!isa<arith::ExtFOp, arith::TruncFOp>(op))
      return;
    Value value = op->getOperand(0);
    Type from = value.getType(), to = op->getResult(0).getType();
    ImplicitLocOpBuilder b(op->getLoc(), op);
    if (isa<Float8E4M3FNType>(from) && to.isF32())
      op->replaceAllUsesWith(ValueRange(extendByte(b, value)));
    else if (from.isF32() && isa<Float8E4M3FNType>(to))
      op->replaceAllUsesWith(ValueRange(roundToByte(b, value)));
    else
      return;
    op->erase();
  };
  root->walk<WalkOrder::PostOrder>(visit);
}

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
  using TenonLowerKernelsBase::TenonLowerKernelsBase;

  /// Each kernel by itself, side by side; but not math, whose functions are
  /// declared in the module.
  void runOnOperation() override {
    if (convertsBytes)
      useByteConversions(getOperation());
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
