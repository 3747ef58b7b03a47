//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks and builds what the host needs before it launches a kernel.
//
//===----------------------------------------------------------------------===//

#include "HostValues.h"

#include "Constants.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace mlir::tenon;

LogicalResult tenon::checkBuffers(Operation *op) {
  if (llvm::any_of(op->getOperandTypes(), llvm::IsaPred<TensorType>))
    return op->emitOpError("is on tensors; bufferize first");
  for (Value operand : op->getOperands()) {
    auto type = cast<MemRefType>(operand.getType());
    if (!type.areTrailingDimsContiguous(type.getRank()))
      return op->emitOpError("needs contiguous memrefs, but has ") << type;
  }
  return success();
}

Value tenon::createRowCount(ImplicitLocOpBuilder &b, Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  if (!type.isDynamicDim(0))
    return createI64(b, type.getDimSize(0));
  return arith::IndexCastOp::create(b, b.getI64Type(),
                                    memref::DimOp::create(b, memref, 0));
}

/// Of the first element: a slice of rows begins at an offset.
static Value createAddress(ImplicitLocOpBuilder &b, Value memref) {
  Value address = memref::ExtractAlignedPointerAsIndexOp::create(b, memref);
  auto type = cast<MemRefType>(memref.getType());
  if (!type.getLayout().isIdentity()) {
    Value offset =
        memref::ExtractStridedMetadataOp::create(b, memref).getOffset();
    Value bytes =
        arith::ConstantIndexOp::create(b, type.getElementTypeBitWidth() / 8);
    address = arith::AddIOp::create(b, address,
                                    arith::MulIOp::create(b, offset, bytes));
  }
  return arith::IndexCastOp::create(b, b.getI64Type(), address);
}

Value tenon::createIsAligned(ImplicitLocOpBuilder &b, ValueRange memrefs) {
  Value bits;
  llvm::SmallDenseSet<Value, 4> seen;
  for (Value memref : memrefs) {
    if (!seen.insert(memref).second)
      continue;
    Value pointer = createAddress(b, memref);
    bits = bits ? arith::OrIOp::create(b, bits, pointer) : pointer;
  }
  Value low = arith::AndIOp::create(b, bits, createI64(b, 15));
  return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, low,
                               createI64(b, 0));
}

void tenon::emitIfAligned(ImplicitLocOpBuilder &b, ValueRange memrefs,
                          llvm::function_ref<void()> aligned,
                          llvm::function_ref<void()> unaligned) {
  auto branch = scf::IfOp::create(b, createIsAligned(b, memrefs),
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  aligned();
  b.setInsertionPointToStart(branch.elseBlock());
  unaligned();
}

Value tenon::createTemporary(ImplicitLocOpBuilder &b, MemRefType type,
                             ValueRange extents) {
  OpBuilder::InsertionGuard guard(b);
  Operation *parent = b.getInsertionBlock()->getParentOp();
  for (; !isa<FunctionOpInterface>(parent); parent = parent->getParentOp())
    b.setInsertionPoint(parent);
  return memref::AllocOp::create(b, type, extents);
}

LaunchOp tenon::createLaunch(ImplicitLocOpBuilder &b, LLVM::LLVMFuncOp kernel,
                             Value blocks, int64_t threads, Value shared,
                             ValueRange arguments) {
  auto module = kernel->getParentOfType<gpu::GPUModuleOp>();
  Value along = arith::IndexCastOp::create(b, b.getIndexType(), blocks);
  Value inBlock = arith::ConstantIndexOp::create(b, threads);
  return LaunchOp::create(
      b,
      SymbolRefAttr::get(module.getNameAttr(),
                         {FlatSymbolRefAttr::get(kernel.getNameAttr())}),
      along, inBlock, shared, arguments, /*persistent=*/IntegerAttr(),
      /*cluster=*/IntegerAttr(), /*resident=*/IntegerAttr(),
      /*tensor_maps=*/ArrayAttr(), /*waits_itself=*/UnitAttr());
}

std::string tenon::makeKernelName(gpu::GPUModuleOp module, StringRef base) {
  std::string name = base.str();
  for (unsigned i = 1; module.lookupSymbol(name); ++i)
    name = (base + "_" + Twine(i)).str();
  return name;
}
