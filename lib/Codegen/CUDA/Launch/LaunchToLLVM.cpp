//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Launches become calls of the runtime: one for each tensor map, one for the
// launch.
//
//===----------------------------------------------------------------------===//

#include "LaunchToLLVM.h"

#include "RuntimeCalls.h"

#include "tenon/Codegen/CUDA/Launch/HostToLLVM.h"
#include "tenon/Dialect/Tenon/IR/Tenon.h"

#include "tenon/Codegen/DataType.h"

#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mlir::tenon;

//===----------------------------------------------------------------------===//
// What a launch must be
//===----------------------------------------------------------------------===//

FailureOr<int64_t> tenon::getKernelNumber(Operation *op, StringAttr kernel) {
  auto kernels = op->getParentOfType<ModuleOp>()->getAttrOfType<ArrayAttr>(
      TenonDialect::kKernelsAttr);
  if (!kernels)
    return failure();
  auto *found = llvm::find(kernels, kernel);
  if (found == kernels.end())
    return failure();
  return found - kernels.begin();
}

static bool endsInToken(LaunchOp op) {
  auto arguments = op.getArguments();
  return !arguments.empty() && arguments.back().getType().isInteger(64);
}

/// Can the tensor map of a memref of this type be encoded?
static bool canEncode(TensorMapAttr map, Type operand) {
  auto type = dyn_cast<MemRefType>(operand);
  if (!type || type.getRank() != 2 || !type.areTrailingDimsContiguous(2))
    return false;
  Type element = type.getElementType();
  if (!isa<FloatType>(element) || element.isF64() ||
      (map.getRoundsTf32() && !element.isF32()))
    return false;
  int64_t rowBytes = map.getBox()[1] * element.getIntOrFloatBitWidth() / 8;
  return rowBytes % 16 == 0 && rowBytes <= map.getSwizzle();
}

static LogicalResult checkTensorMaps(LaunchOp op) {
  ArrayRef<Attribute> maps = op.getMaps();
  if (maps.size() > op.getArguments().size())
    return op.emitOpError("has ")
           << maps.size() << " tensor maps, but " << op.getArguments().size()
           << " operands; give it the matrices first";
  for (auto [index, map, operand] :
       llvm::enumerate(maps, op.getArguments().take_front(maps.size())))
    if (!canEncode(cast<TensorMapAttr>(map), operand.getType()))
      return op.emitOpError("operand #")
             << index << " of the kernel, " << operand.getType()
             << ", cannot be read through " << map
             << ": it must be a contiguous matrix, not of f64, rounded "
                "to tf32 only if it is f32, and a row of the box a multiple of "
                "16 bytes, at most the swizzle's";
  return success();
}

//===----------------------------------------------------------------------===//
// The kernel's arguments
//===----------------------------------------------------------------------===//

/// At the function's entry, so that a launch in a loop does not grow the stack.
static Value allocateOnStack(LaunchOp op, Type type,
                             ConversionPatternRewriter &rewriter,
                             unsigned alignment = 0) {
  OpBuilder::InsertionGuard guard(rewriter);
  auto function = op->getParentOfType<FunctionOpInterface>();
  rewriter.setInsertionPointToStart(&function.getFunctionBody().front());
  Value one = LLVM::ConstantOp::create(rewriter, op.getLoc(),
                                       rewriter.getI64IntegerAttr(1));
  return LLVM::AllocaOp::create(rewriter, op.getLoc(),
                                LLVM::LLVMPointerType::get(op.getContext()),
                                type, one, alignment);
}

namespace {
/// Writes a kernel's arguments to the stack, and an array of their addresses,
/// as cuLaunchKernel wants them: tensor maps, bare pointers and scalars.
class ArgumentWriter {
public:
  ArgumentWriter(LaunchOp op, const LLVMTypeConverter &converter,
                 ConversionPatternRewriter &rewriter)
      : op(op), loc(op.getLoc()), converter(converter), rewriter(rewriter),
        pointer(LLVM::LLVMPointerType::get(op.getContext())) {}

  LogicalResult write(ValueRange operands);

  Value addresses; ///< what cuLaunchKernel takes
  Value lastSlot;  ///< where the last argument's value is

private:
  Value elementAddress(Value base, Type type, int32_t index) {
    return LLVM::GEPOp::create(rewriter, loc, pointer, type, base,
                               ArrayRef<LLVM::GEPArg>{0, index});
  }
  LogicalResult encodeMap(TensorMapAttr map, Value matrix, Value descriptor,
                          Value slot);

  LaunchOp op;
  Location loc;
  const LLVMTypeConverter &converter;
  ConversionPatternRewriter &rewriter;
  LLVM::LLVMPointerType pointer;
};
} // namespace

/// The fields of TenonTensorMap, in order.
static SmallVector<Attribute> getMapFields(TensorMapAttr map, Type matrix,
                                           Builder &b) {
  return {b.getI32IntegerAttr(
              findDataType(cast<MemRefType>(matrix).getElementType())->number),
          b.getI32IntegerAttr(map.getRoundsTf32()),
          b.getI32IntegerAttr(map.getBox()[0]),
          b.getI32IntegerAttr(map.getBox()[1]),
          b.getI32IntegerAttr(map.getSwizzle())};
}

LogicalResult ArgumentWriter::encodeMap(TensorMapAttr map, Value matrix,
                                        Value descriptor, Value slot) {
  MemRefDescriptor view(descriptor);
  Value constant =
      createConstantStruct(rewriter, op, "tenon_tensor_map_",
                           getMapFields(map, matrix.getType(), rewriter));
  return createRuntimeCall(
      rewriter, op, "tenonEncodeTensorMap",
      {constant, getAddress(rewriter, loc, converter, matrix, descriptor),
       view.size(rewriter, loc, 0), view.size(rewriter, loc, 1), slot});
}

LogicalResult ArgumentWriter::write(ValueRange operands) {
  ArrayRef<Attribute> maps = op.getMaps();
  SmallVector<Value> values;
  for (auto [original, value] :
       llvm::drop_begin(llvm::zip(op.getArguments(), operands), maps.size()))
    values.push_back(isa<MemRefType>(original.getType())
                         ? getAddress(rewriter, loc, converter, original, value)
                         : value);
  auto valueType = LLVM::LLVMStructType::getLiteral(
      op.getContext(), llvm::to_vector(ValueRange(values).getTypes()));
  auto mapType = LLVM::LLVMArrayType::get(
      LLVM::LLVMArrayType::get(rewriter.getI8Type(), kTenonTensorMapBytes),
      maps.size());
  auto addressType = LLVM::LLVMArrayType::get(pointer, operands.size());
  Value slots = allocateOnStack(op, valueType, rewriter);
  Value mapSlots;
  if (!maps.empty())
    mapSlots = allocateOnStack(op, mapType, rewriter, kTenonTensorMapAlignment);
  addresses = allocateOnStack(op, addressType, rewriter);
  for (auto [index, operand] : llvm::enumerate(operands)) {
    int32_t number = index, numMaps = maps.size();
    if (number < numMaps) {
      lastSlot = elementAddress(mapSlots, mapType, number);
      if (failed(encodeMap(cast<TensorMapAttr>(maps[number]),
                           op.getArguments()[number], operand, lastSlot)))
        return failure();
    } else {
      lastSlot = elementAddress(slots, valueType, number - numMaps);
      LLVM::StoreOp::create(rewriter, loc, values[number - numMaps], lastSlot);
    }
    LLVM::StoreOp::create(rewriter, loc, lastSlot,
                          elementAddress(addresses, addressType, number));
  }
  return success();
}

//===----------------------------------------------------------------------===//
// The launch
//===----------------------------------------------------------------------===//

namespace {
struct LaunchToLLVM : ConvertOpToLLVMPattern<LaunchOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult
  matchAndRewrite(LaunchOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    FailureOr<int64_t> number =
        getKernelNumber(op, op.getKernel().getLeafReference());
    if (failed(number))
      return op.emitOpError("launches a kernel that the module's '")
             << TenonDialect::kKernelsAttr << "' does not list";
    if (op.getPersistent() && !endsInToken(op))
      return op.emitOpError("is persistent, so its last argument must be an "
                            "i64, the launch's token");
    if (failed(checkTensorMaps(op)))
      return failure();
    Value sharedBytes = getSharedBytes(adaptor, rewriter, op.getLoc());
    ArgumentWriter arguments(op, *getTypeConverter(), rewriter);
    if (failed(arguments.write(adaptor.getArguments())))
      return failure();
    if (op.getPersistent())
      return callRuntime(
          rewriter, op, "tenonLaunchPersistent",
          {createConstantStruct(rewriter, op, "tenon_persistent_",
                                getFields(op, *number, rewriter)),
           adaptor.getBlocks(), adaptor.getThreads(), sharedBytes,
           arguments.addresses, arguments.lastSlot});
    auto createI32 = [&](int32_t value) -> Value {
      return LLVM::ConstantOp::create(rewriter, op.getLoc(),
                                      rewriter.getI32IntegerAttr(value));
    };
    Value one = LLVM::ConstantOp::create(rewriter, op.getLoc(),
                                         rewriter.getI64IntegerAttr(1));
    return callRuntime(rewriter, op, "tenonLaunchKernel",
                       {createI32(*number), adaptor.getBlocks(), one, one,
                        adaptor.getThreads(), one, one, sharedBytes,
                        arguments.addresses, createI32(op.getWaitsItself())});
  }

private:
  /// The fields of TenonPersistentKernel, in order.
  static SmallVector<Attribute> getFields(LaunchOp op, int64_t number,
                                          Builder &b) {
    return {b.getI32IntegerAttr(number),
            b.getI32IntegerAttr(op.getCluster().value_or(1)),
            op.getPersistentAttr(), b.getI32IntegerAttr(op.getWaitsItself()),
            b.getI32IntegerAttr(op.getResident().value_or(0))};
  }

  /// Bytes of dynamic shared memory, 0 where none are given.
  static Value getSharedBytes(OpAdaptor adaptor,
                              ConversionPatternRewriter &rewriter,
                              Location loc) {
    Value bytes = adaptor.getShared();
    if (!bytes)
      return LLVM::ConstantOp::create(rewriter, loc,
                                      rewriter.getI64IntegerAttr(0));
    return LLVM::ZExtOp::create(rewriter, loc, rewriter.getI64Type(), bytes);
  }
};
} // namespace

void tenon::populateLaunchToLLVMPatterns(LLVMTypeConverter &converter,
                                         RewritePatternSet &patterns) {
  patterns.add<LaunchToLLVM>(converter);
}
