//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shorthand for the scalar arithmetic that ops emit.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_DIALECT_TENON_IR_SCALAREMITTER_H
#define TENON_LIB_DIALECT_TENON_IR_SCALAREMITTER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>

namespace mlir::tenon {

/// Arithmetic on values of one float type. A product that goes into a sum may
/// be contracted to a fused multiply-add.
struct ScalarEmitter {
  OpBuilder &builder;
  Location loc;
  Type type;

  ScalarEmitter(OpBuilder &builder, Location loc, Type type)
      : builder(builder), loc(loc), type(type) {}
  /// In the type of an op's operands.
  ScalarEmitter(OpBuilder &builder, Location loc, ValueRange operands)
      : ScalarEmitter(builder, loc, operands[0].getType()) {}

  static constexpr auto kContract = arith::FastMathFlags::contract;

  Value constant(double value) {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getFloatAttr(type, value));
  }
  Value add(Value a, Value b) {
    return arith::AddFOp::create(builder, loc, a, b, kContract);
  }
  Value sub(Value a, Value b) {
    return arith::SubFOp::create(builder, loc, a, b, kContract);
  }
  Value mul(Value a, Value b) {
    return arith::MulFOp::create(builder, loc, a, b, kContract);
  }
  Value div(Value a, Value b) {
    return arith::DivFOp::create(builder, loc, a, b);
  }
  /// As exact as exp, of whose results it is, but 0 of a divisor above 2^126: a
  /// GPU's correct division has a call for its rare cases.
  Value quotient(Value a, Value b) {
    return arith::DivFOp::create(builder, loc, a, b, arith::FastMathFlags::afn);
  }
  Value abs(Value a) { return math::AbsFOp::create(builder, loc, a); }
  Value exp2(Value a) { return math::Exp2Op::create(builder, loc, a); }
  Value exp(Value a) { return math::ExpOp::create(builder, loc, a); }
  /// Where `result` is what it becomes part of: of 16 bits 2^(a log2 e), two
  /// instructions of a GPU in the place of nine, which errs by 2^-24 |a| of
  /// itself more.
  Value exp(Value a, Type result) {
    if (!type.isF32() || result.getIntOrFloatBitWidth() > 16)
      return exp(a);
    return exp2(mul(a, constant(M_LOG2E)));
  }
  /// Exact where a is small, as expm1 is.
  Value log1p(Value a) { return math::Log1pOp::create(builder, loc, a); }
  Value expm1(Value a) { return math::ExpM1Op::create(builder, loc, a); }
  Value log(Value a) { return math::LogOp::create(builder, loc, a); }
  Value tanh(Value a) { return math::TanhOp::create(builder, loc, a); }
  Value greater(Value a, Value b) {
    return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGT, a, b);
  }
  Value select(Value condition, Value a, Value b) {
    return arith::SelectOp::create(builder, loc, condition, a, b);
  }
};

} // namespace mlir::tenon

#endif // TENON_LIB_DIALECT_TENON_IR_SCALAREMITTER_H
