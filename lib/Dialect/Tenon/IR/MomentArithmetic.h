//===- MomentArithmetic.h - Arithmetic on moments ---------------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_DIALECT_TENON_IR_MOMENTARITHMETIC_H
#define TENON_LIB_DIALECT_TENON_IR_MOMENTARITHMETIC_H

#include "mlir/IR/Builders.h"

/// Moments as the state of a `ReductionEpilogueOp`, (mean, M2): M2 is the sum
/// of squared distances from the mean. The functions are the interface's
/// methods.
namespace mlir::tenon::momentArithmetic {

constexpr unsigned kStateSize = 2;

SmallVector<Value> emitInit(OpBuilder &builder, Location loc, Type type);
SmallVector<Value> emitChunk(OpBuilder &builder, Location loc,
                             ValueRange elements);
SmallVector<Value> emitDistances(OpBuilder &builder, Location loc, Value count,
                                 ValueRange distances);
SmallVector<Value> emitCombine(OpBuilder &builder, Location loc, Value lhsCount,
                               ValueRange lhs, Value rhsCount, ValueRange rhs);
Value getOrigin(ValueRange state);
SmallVector<Value> emitMove(OpBuilder &builder, Location loc, ValueRange state,
                            Value amount);

} // namespace mlir::tenon::momentArithmetic

#endif // TENON_LIB_DIALECT_TENON_IR_MOMENTARITHMETIC_H
