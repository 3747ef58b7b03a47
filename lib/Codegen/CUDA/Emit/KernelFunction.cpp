//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Creates kernels' functions, and branches in them.
//
//===----------------------------------------------------------------------===//

#include "KernelFunction.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

/// A tensor map is a parameter of 128 bytes, of which the kernel takes the
/// address.
static void makeTensorMap(ImplicitLocOpBuilder &b, LLVM::LLVMFuncOp function,
                          unsigned index) {
  auto set = [&](StringRef name, Attribute value) {
    function.setArgAttr(index, name, value);
  };
  set(LLVM::LLVMDialect::getByValAttrName(),
      TypeAttr::get(LLVM::LLVMArrayType::get(b.getI8Type(), 128)));
  set(LLVM::LLVMDialect::getAlignAttrName(), b.getI64IntegerAttr(64));
  set(NVVM::NVVMDialect::getGridConstantAttrName(), b.getUnitAttr());
}

LLVM::LLVMFuncOp
tenon::createKernelFunction(ImplicitLocOpBuilder &b, gpu::GPUModuleOp module,
                            StringRef name, unsigned numTensorMaps,
                            unsigned numPointers, int64_t threads) {
  auto pointer = LLVM::LLVMPointerType::get(
      b.getContext(), static_cast<unsigned>(NVVM::NVVMMemorySpace::Global));
  SmallVector<Type> types(numTensorMaps,
                          LLVM::LLVMPointerType::get(b.getContext()));
  types.append(numPointers, pointer);
  types.append(2, b.getI64Type());
  b.setInsertionPointToEnd(module.getBody());
  auto function = LLVM::LLVMFuncOp::create(
      b, name,
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()),
                                  types));
  function->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(),
                    b.getUnitAttr());
  function->setAttr(NVVM::NVVMDialect::getReqntidAttrName(),
                    b.getDenseI32ArrayAttr({static_cast<int32_t>(threads)}));
  for (unsigned i = 0; i != numTensorMaps; ++i)
    makeTensorMap(b, function, i);
  b.setInsertionPointToStart(function.addEntryBlock(b));
  return function;
}

LLVM::GlobalOp tenon::createSharedArray(ImplicitLocOpBuilder &b,
                                        LLVM::LLVMFuncOp function,
                                        const Twine &suffix, Type elementType,
                                        int64_t count) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(function);
  return LLVM::GlobalOp::create(
      b, LLVM::LLVMArrayType::get(elementType, count), /*isConstant=*/false,
      LLVM::Linkage::Internal, (function.getName() + suffix).str(),
      /*value=*/Attribute(), /*alignment=*/16,
      static_cast<unsigned>(NVVM::NVVMMemorySpace::Shared));
}

void tenon::emitIf(ImplicitLocOpBuilder &b, Value condition,
                   llvm::function_ref<void()> body) {
  auto branch = scf::IfOp::create(b, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  body();
}
