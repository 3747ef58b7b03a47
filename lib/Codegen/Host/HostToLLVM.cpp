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

#include "StoredBytes.h"

#include "tenon/Codegen/CUDA/Launch/HostToLLVM.h"
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
#include "mlir/Dialect/LLVMIR/FunctionCallUtils.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace mlir::tenon {
#define GEN_PASS_DEF_TENONHOSTTOLLVM
#include "tenon/Codegen/Host/Passes.h.inc"
} // namespace mlir::tenon

using namespace mlir;

namespace {
/// memref.copy → tenonCopy of contiguous buffers, else tenonCopyStrided, on the
/// call's stream.
struct CopyToRuntime : ConvertOpToLLVMPattern<memref::CopyOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult
  matchAndRewrite(memref::CopyOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto sourceType = cast<MemRefType>(op.getSource().getType());
    auto targetType = cast<MemRefType>(op.getTarget().getType());
    int64_t elementBytes = tenon::getStoredBytes(sourceType.getElementType());
    if (!elementBytes)
      return rewriter.notifyMatchFailure(op, "element size is not known");
    MemRefDescriptor source(adaptor.getSource()), target(adaptor.getTarget());
    // bufferPtr adds the offset.
    SmallVector<Value> arguments{
        target.bufferPtr(rewriter, loc, *getTypeConverter(), targetType),
        source.bufferPtr(rewriter, loc, *getTypeConverter(), sourceType)};
    auto createI64 = [&](int64_t value) -> Value {
      return LLVM::ConstantOp::create(rewriter, loc,
                                      rewriter.getI64IntegerAttr(value));
    };
    int64_t rank = sourceType.getRank();
    Value bytes = createI64(elementBytes);
    if (sourceType.areTrailingDimsContiguous(rank) &&
        targetType.areTrailingDimsContiguous(rank)) {
      for (int64_t i = 0; i != rank; ++i)
        bytes = LLVM::MulOp::create(rewriter, loc, bytes,
                                    source.size(rewriter, loc, i));
      arguments.push_back(bytes);
      return tenon::callRuntime(rewriter, op, "tenonCopy", arguments);
    }
    Value layout = storeLayout(op, rank, source, target, rewriter);
    arguments.append({bytes, createI64(rank), layout});
    return tenon::callRuntime(rewriter, op, "tenonCopyStrided", arguments);
  }

  /// An array of the extents, the target's strides and the source's. It is at
  /// the function's entry, so that a copy in a loop does not grow the stack.
  static Value storeLayout(memref::CopyOp op, int64_t rank,
                           MemRefDescriptor &source, MemRefDescriptor &target,
                           ConversionPatternRewriter &rewriter) {
    Location loc = op.getLoc();
    auto pointer = LLVM::LLVMPointerType::get(rewriter.getContext());
    Type i64 = rewriter.getI64Type();
    Value layout;
    {
      OpBuilder::InsertionGuard guard(rewriter);
      auto function = op->getParentOfType<FunctionOpInterface>();
      rewriter.setInsertionPointToStart(&function.getFunctionBody().front());
      Value count = LLVM::ConstantOp::create(
          rewriter, loc, rewriter.getI64IntegerAttr(3 * rank));
      layout = LLVM::AllocaOp::create(rewriter, loc, pointer, i64, count);
    }
    auto store = [&](int64_t index, Value value) {
      Value slot = LLVM::GEPOp::create(rewriter, loc, pointer, i64, layout,
                                       LLVM::GEPArg(index));
      LLVM::StoreOp::create(rewriter, loc, value, slot);
    };
    for (int64_t i = 0; i != rank; ++i) {
      store(i, source.size(rewriter, loc, i));
      store(rank + i, target.stride(rewriter, loc, i));
      store(2 * rank + i, source.stride(rewriter, loc, i));
    }
    return layout;
  }
};

/// The large buffers of a function on the stack, numbered.
using ScratchNumbers = llvm::DenseMap<Operation *, int64_t>;

/// memref.alloca of much → tenonScratch: threads may have little stack.
struct AllocaToScratch : ConvertOpToLLVMPattern<memref::AllocaOp> {
  AllocaToScratch(const LLVMTypeConverter &converter,
                  const ScratchNumbers &numbers)
      : ConvertOpToLLVMPattern(converter, /*benefit=*/2), numbers(numbers) {}

  static constexpr int64_t kLeastBytes = 16384;

  static int64_t getBytes(memref::AllocaOp op) {
    MemRefType type = op.getType();
    if (!type.hasStaticShape() || !type.getLayout().isIdentity())
      return 0;
    return type.getNumElements() * tenon::getStoredBytes(type.getElementType());
  }

  LogicalResult
  matchAndRewrite(memref::AllocaOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto number = numbers.find(op);
    if (number == numbers.end())
      return failure();
    Location loc = op.getLoc();
    Type i64 = rewriter.getI64Type();
    auto function = LLVM::lookupOrCreateFn(
        rewriter, op->getParentOfType<ModuleOp>(), "tenonScratch", {i64, i64},
        LLVM::LLVMPointerType::get(rewriter.getContext()));
    if (failed(function))
      return failure();
    auto constant = [&](int64_t value) -> Value {
      return LLVM::ConstantOp::create(rewriter, loc,
                                      rewriter.getI64IntegerAttr(value));
    };
    Value memory = LLVM::CallOp::create(rewriter, loc, *function,
                                        ValueRange{constant(number->second),
                                                   constant(getBytes(op))})
                       .getResult();
    rewriter.replaceOp(
        op, {MemRefDescriptor::fromStaticShape(
                rewriter, loc, *getTypeConverter(), op.getType(), memory)});
    return success();
  }

  const ScratchNumbers &numbers;
};

ScratchNumbers numberScratch(ModuleOp module) {
  ScratchNumbers numbers;
  for (auto function : module.getOps<FunctionOpInterface>()) {
    int64_t next = 0;
    function.walk([&](memref::AllocaOp op) {
      if (AllocaToScratch::getBytes(op) >= AllocaToScratch::kLeastBytes)
        numbers[op] = next++;
    });
  }
  return numbers;
}

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
    ScratchNumbers scratch = numberScratch(getOperation());
    patterns.add<AllocaToScratch>(converter, scratch);

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
