//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits calls of the runtime, and what they are given.
//
//===----------------------------------------------------------------------===//

#include "RuntimeCalls.h"

#include "mlir/Dialect/LLVMIR/FunctionCallUtils.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mlir::tenon;

/// A call of a function of the runtime that gives `result`.
static FailureOr<LLVM::CallOp> createCall(OpBuilder &b, Operation *op,
                                          StringRef name,
                                          ArrayRef<Value> arguments,
                                          Type result) {
  SmallVector<Value> operands{
      op->getParentOfType<FunctionOpInterface>().getArgument(0)};
  llvm::append_range(operands, arguments);
  FailureOr<LLVM::LLVMFuncOp> function = LLVM::lookupOrCreateFn(
      b, op->getParentOfType<ModuleOp>(), name,
      llvm::to_vector(ValueRange(operands).getTypes()), result);
  if (failed(function))
    return failure();
  return LLVM::CallOp::create(b, op->getLoc(), *function, operands);
}

LogicalResult tenon::createRuntimeCall(OpBuilder &b, Operation *op,
                                       StringRef name,
                                       ArrayRef<Value> arguments) {
  return createCall(b, op, name, arguments,
                    LLVM::LLVMVoidType::get(op->getContext()));
}

FailureOr<Value> tenon::createRuntimeCall(OpBuilder &b, Operation *op,
                                          StringRef name,
                                          ArrayRef<Value> arguments,
                                          Type result) {
  FailureOr<LLVM::CallOp> call = createCall(b, op, name, arguments, result);
  if (failed(call))
    return failure();
  return call->getResult();
}

Value tenon::getAddress(OpBuilder &b, Location loc,
                        const LLVMTypeConverter &converter, Value original,
                        Value descriptor) {
  if (!original)
    return LLVM::ZeroOp::create(b, loc,
                                LLVM::LLVMPointerType::get(b.getContext()));
  return MemRefDescriptor(descriptor)
      .bufferPtr(b, loc, converter, cast<MemRefType>(original.getType()));
}

Value tenon::createConstantStruct(OpBuilder &b, Operation *op, StringRef prefix,
                                  ArrayRef<Attribute> fields) {
  auto module = op->getParentOfType<ModuleOp>();
  Location loc = op->getLoc();
  std::string name;
  for (unsigned i = 0; name.empty() || module.lookupSymbol(name); ++i)
    name = (prefix + Twine(i)).str();
  auto type = LLVM::LLVMStructType::getLiteral(
      b.getContext(), llvm::map_to_vector(fields, [](Attribute field) {
        return cast<TypedAttr>(field).getType();
      }));
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    auto global = LLVM::GlobalOp::create(b, loc, type, /*isConstant=*/true,
                                         LLVM::Linkage::Internal, name,
                                         /*value=*/Attribute());
    b.createBlock(&global.getInitializerRegion());
    Value value = LLVM::UndefOp::create(b, loc, type);
    for (auto [index, field] : llvm::enumerate(fields))
      value = LLVM::InsertValueOp::create(
          b, loc, value,
          LLVM::ConstantOp::create(b, loc, cast<TypedAttr>(field)), index);
    LLVM::ReturnOp::create(b, loc, value);
  }
  return LLVM::AddressOfOp::create(
      b, loc, LLVM::LLVMPointerType::get(b.getContext()), name);
}
