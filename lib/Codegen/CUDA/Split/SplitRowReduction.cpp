//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reduces over the threads of a row: lanes, then warps, then the row.
//
//===----------------------------------------------------------------------===//

#include "SplitRowReduction.h"

#include "Codegen/CUDA/Emit/KernelFunction.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::tenon;

SplitRowReduction::SplitRowReduction(KernelBuilder &b,
                                     LLVM::LLVMFuncOp function, Value thread,
                                     unsigned warps)
    : b(b), thread(thread), warps(warps) {
  if (warps != 1)
    shared =
        createSharedArray(b, function, "_shared", b.getI32Type(), 2 * warps);
}

Value SplitRowReduction::emit(Value value, bool isSum) {
  if (isa<VectorType>(value.getType()))
    value = vector::ReductionOp::create(
        b, isSum ? vector::CombiningKind::ADD : vector::CombiningKind::MAXSI,
        value);
  auto reduceWarp = [&](Value own) -> Value {
    return NVVM::ReduxOp::create(
        b, b.getI32Type(), own,
        isSum ? NVVM::ReduxKind::ADD : NVVM::ReduxKind::MAX, b.i32(-1));
  };
  value = reduceWarp(value);
  if (warps == 1)
    return value;
  Value places =
      b.offset(LLVM::AddressOfOp::create(b, shared), isSum ? 4 * warps : 0);
  auto getPlace = [&](Value warp) { return b.offset(places, b.mul(warp, 4)); };
  Value lane = b.bitAnd(thread, 31);
  emitIf(b, b.equal(lane, 0), [&] {
    LLVM::StoreOp::create(b, value, getPlace(b.shiftRight(thread, 5)), 4);
  });
  NVVM::Barrier0Op::create(b);
  // Each warp reduces what all have left.
  value = LLVM::LoadOp::create(b, b.getI32Type(),
                               getPlace(b.bitAnd(lane, warps - 1)), 4);
  if (isSum)
    value = b.select(b.less(lane, warps), value, b.i32(0));
  return reduceWarp(value);
}
