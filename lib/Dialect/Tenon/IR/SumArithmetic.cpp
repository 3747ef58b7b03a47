//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The arithmetic of sums over the batch.
//
//===----------------------------------------------------------------------===//

#include "SumArithmetic.h"

#include "ScalarEmitter.h"

using namespace mlir;
using namespace mlir::tenon;

SmallVector<Value> sumArithmetic::emitInit(OpBuilder &builder, Location loc,
                                           Type type) {
  return {ScalarEmitter{builder, loc, type}.constant(0.0)};
}

SmallVector<Value> sumArithmetic::emitChunk(OpBuilder &builder, Location loc,
                                            ValueRange elements) {
  ScalarEmitter e{builder, loc, elements[0].getType()};
  Value sum = elements[0];
  for (Value element : elements.drop_front())
    sum = e.add(sum, element);
  return {sum};
}

SmallVector<Value> sumArithmetic::emitDistances(OpBuilder & /*builder*/,
                                                Location /*loc*/,
                                                Value /*count*/,
                                                ValueRange /*distances*/) {
  llvm_unreachable("sums have no origin");
}

SmallVector<Value> sumArithmetic::emitCombine(OpBuilder &builder, Location loc,
                                              Value lhsCount, ValueRange lhs,
                                              Value /*rhsCount*/,
                                              ValueRange rhs) {
  ScalarEmitter e{builder, loc, lhsCount.getType()};
  return {e.add(lhs[0], rhs[0])};
}

Value sumArithmetic::getOrigin(ValueRange /*state*/) { return {}; }

SmallVector<Value> sumArithmetic::emitMove(OpBuilder & /*builder*/,
                                           Location /*loc*/,
                                           ValueRange /*state*/,
                                           Value /*amount*/) {
  llvm_unreachable("sums have no origin");
}
