//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Stores factors; counts rows outside.
//
//===----------------------------------------------------------------------===//

#include "SplitFactor.h"

#include "Codegen/CUDA/Emit/KernelFunction.h"

#include "tenon/Runtime/Runtime.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::tenon;

LLVM::GlobalOp tenon::getRowsOutsideCounter(OpBuilder &builder,
                                            gpu::GPUModuleOp module) {
  if (auto found = module.lookupSymbol<LLVM::GlobalOp>(kTenonRowsOutside))
    return found;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(module.getBody());
  return LLVM::GlobalOp::create(
      builder, module.getLoc(), builder.getI64Type(), /*isConstant=*/false,
      LLVM::Linkage::External, kTenonRowsOutside, builder.getI64IntegerAttr(0),
      /*alignment=*/8, static_cast<unsigned>(NVVM::NVVMMemorySpace::Global));
}

void tenon::emitSplitFactor(KernelBuilder &b, LLVM::GlobalOp counter,
                            Value factors, Value row, const SplitScale &scale,
                            Value largest, Value score, unsigned parts) {
  Value isOutside = emitRowIsOutside(b, b.getLoc(), largest, score, parts);
  Value factor = emitSplitFactor(b, b.getLoc(), scale.factor, isOutside);
  LLVM::StoreOp::create(b, factor, b.offset(factors, b.mul(row, 4)), 4);
  emitIf(b, isOutside, [&] {
    LLVM::AtomicRMWOp::create(b, LLVM::AtomicBinOp::add,
                              LLVM::AddressOfOp::create(b, counter), b.i64(1),
                              LLVM::AtomicOrdering::monotonic,
                              /*syncscope=*/"device");
  });
}
