//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// tenon.resident_blocks becomes a call of the runtime.
//
//===----------------------------------------------------------------------===//

#include "ResidentBlocksToLLVM.h"

#include "LaunchToLLVM.h"
#include "RuntimeCalls.h"

#include "tenon/Dialect/Tenon/IR/Tenon.h"

#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace mlir::tenon;

namespace {
/// Asks with the constant of a launch that nothing but the GPU bounds.
struct ResidentBlocksToLLVM : ConvertOpToLLVMPattern<ResidentBlocksOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult
  matchAndRewrite(ResidentBlocksOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    FailureOr<int64_t> number =
        getKernelNumber(op, op.getKernel().getLeafReference());
    if (failed(number))
      return op.emitOpError("asks for a kernel that the module's '")
             << TenonDialect::kKernelsAttr << "' does not list";
    Value kernel = createConstantStruct(
        rewriter, op, "tenon_persistent_",
        {rewriter.getI32IntegerAttr(*number),
         rewriter.getI32IntegerAttr(op.getClusterBlocks()),
         rewriter.getI64IntegerAttr(std::numeric_limits<int32_t>::max()),
         rewriter.getI32IntegerAttr(0), rewriter.getI32IntegerAttr(0)});
    auto i64 = [&](int64_t value) -> Value {
      return LLVM::ConstantOp::create(rewriter, op.getLoc(),
                                      rewriter.getI64IntegerAttr(value));
    };
    FailureOr<Value> blocks = createRuntimeCall(
        rewriter, op, "tenonResidentBlocks",
        {kernel, i64(op.getThreads()), i64(op.getSharedBytes())},
        rewriter.getI64Type());
    if (failed(blocks))
      return failure();
    rewriter.replaceOp(op, *blocks);
    return success();
  }
};
} // namespace

void tenon::populateResidentBlocksToLLVMPatterns(LLVMTypeConverter &converter,
                                                 RewritePatternSet &patterns) {
  patterns.add<ResidentBlocksToLLVM>(converter);
}
