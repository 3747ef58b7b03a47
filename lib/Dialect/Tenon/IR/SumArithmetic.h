//===- SumArithmetic.h - Arithmetic on sums ---------------------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_DIALECT_TENON_IR_SUMARITHMETIC_H
#define TENON_LIB_DIALECT_TENON_IR_SUMARITHMETIC_H

#include "mlir/IR/Builders.h"

/// A sum as the state of a `ReductionEpilogueOp`. The functions are the
/// interface's methods.
namespace mlir::tenon::sumArithmetic {

constexpr unsigned kStateSize = 1;

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

} // namespace mlir::tenon::sumArithmetic

#endif // TENON_LIB_DIALECT_TENON_IR_SUMARITHMETIC_H
