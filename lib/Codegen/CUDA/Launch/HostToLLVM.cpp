//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Products become calls of the runtime; so do launches (LaunchToLLVM.cpp).
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/CUDA/Launch/HostToLLVM.h"

#include "LaunchToLLVM.h"
#include "ResidentBlocksToLLVM.h"
#include "RuntimeCalls.h"

#include "tenon/Codegen/DataType.h"
#include "tenon/Dialect/BlasLt/IR/BlasLt.h"

#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace mlir::tenon;

static_assert(blaslt::kWorkspaceBytes == kTenonBlasLtWorkspaceBytes);

LogicalResult tenon::callRuntime(ConversionPatternRewriter &rewriter,
                                 Operation *op, StringRef name,
                                 ArrayRef<Value> arguments) {
  if (failed(createRuntimeCall(rewriter, op, name, arguments)))
    return failure();
  rewriter.eraseOp(op);
  return success();
}

//===----------------------------------------------------------------------===//
// blaslt
//===----------------------------------------------------------------------===//

static_assert(int(blaslt::Compute::F32) == kTenonComputeF32 &&
              int(blaslt::Compute::TF32) == kTenonComputeTF32 &&
              int(blaslt::Compute::BF16) == kTenonComputeBF16 &&
              int(blaslt::Compute::F16) == kTenonComputeF16 &&
              int(blaslt::Compute::F64) == kTenonComputeF64);
static_assert(int(blaslt::Activation::Relu) == kTenonEpilogueRelu &&
              int(blaslt::Activation::GeluTanh) == kTenonEpilogueGeluTanh);
static_assert(int(blaslt::Scales::Tensor) == kTenonScalesTensor &&
              int(blaslt::Scales::Rows) == kTenonScalesRows);

namespace {
/// A plan is the address of a constant TenonBlasLtPlan.
struct PlanToLLVM : ConvertOpToLLVMPattern<blaslt::PlanOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult
  matchAndRewrite(blaslt::PlanOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOp(op, createConstantStruct(rewriter, op, "tenon_plan_",
                                                getFields(op, rewriter)));
    return success();
  }

  /// The fields of TenonBlasLtPlan, in order.
  static SmallVector<Attribute> getFields(blaslt::PlanOp op, Builder &b) {
    auto i32 = [&](auto value) {
      return b.getI32IntegerAttr(static_cast<int32_t>(value));
    };
    return {b.getI64IntegerAttr(op.getN()),
            b.getI64IntegerAttr(op.getK()),
            i32(findDataType(op.getInputType())->number),
            i32(findDataType(op.getOutputType())->number),
            i32(op.getCompute()),
            i32(op.getActivation()),
            i32(op.getBias()),
            i32((op.getXTransposed() ? kTenonXTransposed : 0) |
                (op.getWTransposed() ? kTenonWTransposed : 0)),
            i32(op.getScales()),
            b.getF64FloatAttr(op.getAlpha().convertToDouble()),
            b.getF64FloatAttr(op.getResidual() ? 1.0 : 0.0)};
  }
};

struct RunToLLVM : ConvertOpToLLVMPattern<blaslt::RunOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult
  matchAndRewrite(blaslt::RunOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    if (op.isOnTensors())
      return rewriter.notifyMatchFailure(op, "on tensors");
    auto address = [&](Value original, Value descriptor) {
      return getAddress(rewriter, loc, *getTypeConverter(), original,
                        descriptor);
    };
    Value m = MemRefDescriptor(adaptor.getX())
                  .size(rewriter, loc, op.getPlanOp().getXTransposed() ? 1 : 0);
    return callRuntime(rewriter, op, "tenonBlasLtRun",
                       {adaptor.getPlan(), m,
                        address(op.getX(), adaptor.getX()),
                        address(op.getW(), adaptor.getW()),
                        address(op.getXScale(), adaptor.getXScale()),
                        address(op.getWScale(), adaptor.getWScale()),
                        address(op.getBias(), adaptor.getBias()),
                        address(op.getResidual(), adaptor.getResidual()),
                        address(op.getY(), adaptor.getY()),
                        address(op.getWorkspace(), adaptor.getWorkspace())});
  }
};
} // namespace

void tenon::populateCudaHostToLLVMPatterns(LLVMTypeConverter &converter,
                                           RewritePatternSet &patterns) {
  converter.addConversion([](blaslt::PlanType type) -> Type {
    return LLVM::LLVMPointerType::get(type.getContext());
  });
  patterns.add<PlanToLLVM, RunToLLVM>(converter);
  populateLaunchToLLVMPatterns(converter, patterns);
  populateResidentBlocksToLLVMPatterns(converter, patterns);
}
