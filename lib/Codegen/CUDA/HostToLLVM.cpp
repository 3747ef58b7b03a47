//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Products and launches become calls of the runtime.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/CUDA/HostToLLVM.h"

#include "tenon/Dialect/BlasLt/IR/BlasLt.h"
#include "tenon/Dialect/Tenon/IR/Tenon.h"
#include "tenon/Runtime/Runtime.h"

#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/FunctionCallUtils.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mlir::tenon;

static_assert(blaslt::kWorkspaceBytes == kTenonBlasLtWorkspaceBytes);

//===----------------------------------------------------------------------===//
// Shared
//===----------------------------------------------------------------------===//

LogicalResult tenon::callRuntime(ConversionPatternRewriter &rewriter,
                                 Operation *op, StringRef name,
                                 ArrayRef<Value> arguments) {
  SmallVector<Value> operands{
      op->getParentOfType<FunctionOpInterface>().getArgument(0)};
  llvm::append_range(operands, arguments);
  FailureOr<LLVM::LLVMFuncOp> function =
      LLVM::lookupOrCreateFn(rewriter, op->getParentOfType<ModuleOp>(), name,
                             llvm::to_vector(ValueRange(operands).getTypes()),
                             LLVM::LLVMVoidType::get(op->getContext()));
  if (failed(function))
    return failure();
  LLVM::CallOp::create(rewriter, op->getLoc(), *function, operands);
  rewriter.eraseOp(op);
  return success();
}

/// The address of a memref's first element; null for an absent one.
static Value getAddress(ConversionPatternRewriter &rewriter, Location loc,
                        const LLVMTypeConverter &converter, Value original,
                        Value descriptor) {
  auto pointer = LLVM::LLVMPointerType::get(rewriter.getContext());
  if (!original)
    return LLVM::ZeroOp::create(rewriter, loc, pointer);
  return MemRefDescriptor(descriptor)
      .bufferPtr(rewriter, loc, converter,
                 cast<MemRefType>(original.getType()));
}

//===----------------------------------------------------------------------===//
// blaslt
//===----------------------------------------------------------------------===//

static TenonDType getDType(Type type) {
  if (type.isF16())
    return kTenonF16;
  if (type.isBF16())
    return kTenonBF16;
  return type.isF64() ? kTenonF64 : kTenonF32;
}

static_assert(int(blaslt::Compute::F32) == kTenonComputeF32 &&
              int(blaslt::Compute::TF32) == kTenonComputeTF32 &&
              int(blaslt::Compute::BF16) == kTenonComputeBF16 &&
              int(blaslt::Compute::F16) == kTenonComputeF16 &&
              int(blaslt::Compute::F64) == kTenonComputeF64);
static_assert(int(blaslt::Activation::Relu) == kTenonEpilogueRelu &&
              int(blaslt::Activation::GeluTanh) == kTenonEpilogueGeluTanh);

namespace {
/// A plan is the address of a constant TenonBlasLtPlan.
struct PlanToLLVM : ConvertOpToLLVMPattern<blaslt::PlanOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult
  matchAndRewrite(blaslt::PlanOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto module = op->getParentOfType<ModuleOp>();
    Location loc = op.getLoc();
    std::string name;
    for (unsigned i = 0; name.empty() || module.lookupSymbol(name); ++i)
      name = "tenon_plan_" + std::to_string(i);
    SmallVector<Attribute> fields = getFields(op, rewriter);
    auto type = LLVM::LLVMStructType::getLiteral(
        getContext(), llvm::map_to_vector(fields, [](Attribute field) {
          return cast<TypedAttr>(field).getType();
        }));
    {
      OpBuilder::InsertionGuard guard(rewriter);
      rewriter.setInsertionPointToStart(module.getBody());
      auto global = LLVM::GlobalOp::create(rewriter, loc, type,
                                           /*isConstant=*/true,
                                           LLVM::Linkage::Internal, name,
                                           /*value=*/Attribute());
      rewriter.createBlock(&global.getInitializerRegion());
      Value plan = LLVM::UndefOp::create(rewriter, loc, type);
      for (auto [index, field] : llvm::enumerate(fields))
        plan = LLVM::InsertValueOp::create(
            rewriter, loc, plan,
            LLVM::ConstantOp::create(rewriter, loc, cast<TypedAttr>(field)),
            index);
      LLVM::ReturnOp::create(rewriter, loc, plan);
    }
    rewriter.replaceOpWithNewOp<LLVM::AddressOfOp>(
        op, LLVM::LLVMPointerType::get(getContext()), name);
    return success();
  }

  /// The fields of TenonBlasLtPlan, in order.
  static SmallVector<Attribute> getFields(blaslt::PlanOp op, Builder &b) {
    auto i32 = [&](auto value) {
      return b.getI32IntegerAttr(static_cast<int32_t>(value));
    };
    return {b.getI64IntegerAttr(op.getN()),
            b.getI64IntegerAttr(op.getK()),
            i32(getDType(op.getInputType())),
            i32(getDType(op.getOutputType())),
            i32(op.getCompute()),
            i32(op.getActivation()),
            i32(op.getBias()),
            i32(0),
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
    Value m = MemRefDescriptor(adaptor.getX()).size(rewriter, loc, 0);
    return callRuntime(rewriter, op, "tenonBlasLtRun",
                       {adaptor.getPlan(), m,
                        address(op.getX(), adaptor.getX()),
                        address(op.getW(), adaptor.getW()),
                        address(op.getBias(), adaptor.getBias()),
                        address(op.getResidual(), adaptor.getResidual()),
                        address(op.getY(), adaptor.getY()),
                        address(op.getWorkspace(), adaptor.getWorkspace())});
  }
};

//===----------------------------------------------------------------------===//
// gpu.launch_func
//===----------------------------------------------------------------------===//

struct LaunchToLLVM : ConvertOpToLLVMPattern<gpu::LaunchFuncOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult
  matchAndRewrite(gpu::LaunchFuncOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    FailureOr<int64_t> number = getNumber(op);
    if (failed(number))
      return op.emitOpError("launches a kernel that the module's '")
             << TenonDialect::kKernelsAttr << "' does not list";
    auto maxBlocks =
        op->getAttrOfType<IntegerAttr>(TenonDialect::kPersistentAttr);
    if (maxBlocks && !endsInToken(op))
      return op.emitOpError("is persistent, so its last argument must be an "
                            "i64, the launch's token");
    Value kernel = LLVM::ConstantOp::create(
        rewriter, loc, rewriter.getI32IntegerAttr(*number));
    Value sharedBytes = getSharedBytes(adaptor, rewriter, loc);
    Arguments arguments =
        storeArguments(op, adaptor.getKernelOperands(), rewriter);
    if (!maxBlocks)
      return callRuntime(rewriter, op, "tenonLaunchKernel",
                         {kernel, adaptor.getGridSizeX(),
                          adaptor.getGridSizeY(), adaptor.getGridSizeZ(),
                          adaptor.getBlockSizeX(), adaptor.getBlockSizeY(),
                          adaptor.getBlockSizeZ(), sharedBytes,
                          arguments.addresses});
    return callRuntime(rewriter, op, "tenonLaunchPersistent",
                       {kernel, adaptor.getGridSizeX(),
                        LLVM::ConstantOp::create(rewriter, loc, maxBlocks),
                        adaptor.getBlockSizeX(), sharedBytes,
                        arguments.addresses, arguments.lastSlot});
  }

private:
  struct Arguments {
    Value addresses; ///< what cuLaunchKernel takes
    Value lastSlot;  ///< where the last argument's value is
  };

  static bool endsInToken(gpu::LaunchFuncOp op) {
    auto operands = op.getKernelOperands();
    return !operands.empty() && operands.back().getType().isInteger(64);
  }

  /// Bytes of dynamic shared memory, 0 where none are given.
  static Value getSharedBytes(OpAdaptor adaptor,
                              ConversionPatternRewriter &rewriter,
                              Location loc) {
    Value bytes = adaptor.getDynamicSharedMemorySize();
    if (!bytes)
      return LLVM::ConstantOp::create(rewriter, loc,
                                      rewriter.getI64IntegerAttr(0));
    return LLVM::ZExtOp::create(rewriter, loc, rewriter.getI64Type(), bytes);
  }

  static FailureOr<int64_t> getNumber(gpu::LaunchFuncOp op) {
    auto kernels = op->getParentOfType<ModuleOp>()->getAttrOfType<ArrayAttr>(
        TenonDialect::kKernelsAttr);
    if (!kernels)
      return failure();
    auto *found = llvm::find(kernels, op.getKernelName());
    if (found == kernels.end())
      return failure();
    return found - kernels.begin();
  }

  /// Puts the kernel's arguments on the stack, and an array of their addresses,
  /// as cuLaunchKernel wants them: bare pointers and scalars.
  Arguments storeArguments(gpu::LaunchFuncOp op, ValueRange operands,
                           ConversionPatternRewriter &rewriter) const {
    Location loc = op.getLoc();
    SmallVector<Value> values;
    for (auto [original, value] : llvm::zip(op.getKernelOperands(), operands))
      values.push_back(
          isa<MemRefType>(original.getType())
              ? getAddress(rewriter, loc, *getTypeConverter(), original, value)
              : value);
    auto type = LLVM::LLVMStructType::getLiteral(
        getContext(), llvm::to_vector(ValueRange(values).getTypes()));
    auto pointer = LLVM::LLVMPointerType::get(getContext());
    auto array = LLVM::LLVMArrayType::get(pointer, values.size());
    Value slots = allocateOnStack(op, type, rewriter);
    Arguments result{allocateOnStack(op, array, rewriter), Value()};
    for (auto [index, value] : llvm::enumerate(values)) {
      int32_t field = index;
      Value slot = LLVM::GEPOp::create(rewriter, loc, pointer, type, slots,
                                       ArrayRef<LLVM::GEPArg>{0, field});
      LLVM::StoreOp::create(rewriter, loc, value, slot);
      Value entry =
          LLVM::GEPOp::create(rewriter, loc, pointer, array, result.addresses,
                              ArrayRef<LLVM::GEPArg>{0, field});
      LLVM::StoreOp::create(rewriter, loc, slot, entry);
      result.lastSlot = slot;
    }
    return result;
  }

  /// At the function's entry, so that a launch in a loop does not grow the
  /// stack.
  Value allocateOnStack(gpu::LaunchFuncOp op, Type type,
                        ConversionPatternRewriter &rewriter) const {
    OpBuilder::InsertionGuard guard(rewriter);
    auto function = op->getParentOfType<FunctionOpInterface>();
    rewriter.setInsertionPointToStart(&function.getFunctionBody().front());
    Value one = LLVM::ConstantOp::create(rewriter, op.getLoc(),
                                         rewriter.getI64IntegerAttr(1));
    return LLVM::AllocaOp::create(rewriter, op.getLoc(),
                                  LLVM::LLVMPointerType::get(getContext()),
                                  type, one);
  }
};
} // namespace

void tenon::populateCudaHostToLLVMPatterns(LLVMTypeConverter &converter,
                                           RewritePatternSet &patterns) {
  converter.addConversion([](blaslt::PlanType type) -> Type {
    return LLVM::LLVMPointerType::get(type.getContext());
  });
  patterns.add<PlanToLLVM, RunToLLVM, LaunchToLLVM>(converter);
}
