//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loops and index arithmetic, in scf and arith.
//
//===----------------------------------------------------------------------===//

#include "LoopNest.h"

using namespace mlir;
using namespace mlir::tenon;

Value LoopNest::index(int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}
Value LoopNest::add(Value a, Value b) {
  return builder.createOrFold<arith::AddIOp>(loc, a, b);
}
Value LoopNest::sub(Value a, Value b) {
  return builder.createOrFold<arith::SubIOp>(loc, a, b);
}
Value LoopNest::mul(Value a, int64_t b) {
  return builder.createOrFold<arith::MulIOp>(loc, a, index(b));
}
Value LoopNest::min(Value a, Value b) {
  return builder.createOrFold<arith::MinSIOp>(loc, a, b);
}
Value LoopNest::ceilDiv(Value a, int64_t b) {
  return builder.createOrFold<arith::DivUIOp>(loc, add(a, index(b - 1)),
                                              index(b));
}
Value LoopNest::floorTo(Value a, int64_t multiple) {
  Value count = builder.createOrFold<arith::DivUIOp>(loc, a, index(multiple));
  return mul(count, multiple);
}
Value LoopNest::ceilTo(Value a, int64_t multiple) {
  return mul(ceilDiv(a, multiple), multiple);
}
Value LoopNest::less(Value a, Value b) {
  return builder.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, a,
                                             b);
}
Value LoopNest::dim(Value memref, int64_t dim) {
  return builder.createOrFold<memref::DimOp>(loc, memref, dim);
}

void LoopNest::loop(Value begin, Value end, int64_t step,
                    function_ref<void(Value)> body) {
  auto op = scf::ForOp::create(builder, loc, begin, end, index(step));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(op.getBody()->getTerminator());
  body(op.getInductionVar());
}

void LoopNest::parallel(ValueRange counts,
                        function_ref<void(ValueRange)> body) {
  SmallVector<Value> zeros(counts.size(), index(0));
  SmallVector<Value> ones(counts.size(), index(1));
  auto op = scf::ParallelOp::create(builder, loc, zeros, counts, ones);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(op.getBody()->getTerminator());
  body(op.getInductionVars());
}

void LoopNest::branch(Value condition, function_ref<void()> then,
                      function_ref<void()> otherwise) {
  auto op = scf::IfOp::create(builder, loc, condition,
                              /*withElseRegion=*/static_cast<bool>(otherwise));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(op.thenYield());
  then();
  if (!otherwise)
    return;
  builder.setInsertionPoint(op.elseYield());
  otherwise();
}
