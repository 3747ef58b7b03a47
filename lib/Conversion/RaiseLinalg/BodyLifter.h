//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Takes the body of a linalg op for all elements at once.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CONVERSION_RAISELINALG_BODYLIFTER_H
#define TENON_LIB_CONVERSION_RAISELINALG_BODYLIFTER_H

#include "Raiser.h"

namespace mlir::tenon {

/// Emits, for scalars of a body, ops on tensors.
class BodyLifter {
public:
  /// Arguments of the body are given in `lifted`.
  BodyLifter(OpBuilder &builder, Block *body,
             llvm::DenseMap<Value, Lifted> lifted)
      : builder(builder), body(body), lifted(std::move(lifted)) {}

  /// What `scalar` stands for; nothing if that cannot be written.
  std::optional<Lifted> lift(Value scalar);
  const std::optional<Reason> &getObstacle() const { return obstacle; }

private:
  template <typename... Ts>
  std::nullptr_t refuse(ReasonCode code, const Ts &...data) {
    if (!obstacle)
      obstacle.emplace(code, data...);
    return nullptr;
  }

  TypedAttr fold(Operation *op, ArrayRef<Lifted> operands);
  Value liftOp(Operation *op, ArrayRef<Lifted> operands);
  Value liftSelect(Operation *op);
  Value liftBranches(Location loc, const Lifted &x, const Lifted &positive,
                     const Lifted &negative, bool isStrict);
  Value liftPower(ArrayRef<Lifted> operands, Location loc);
  /// The same op on tensors, of one shape.
  Value spread(Operation *op, ArrayRef<Lifted> operands);
  template <typename OpTy>
  Value emitBinary(Location loc, const Lifted &a, const Lifted &b);

  OpBuilder &builder;
  Block *body;
  llvm::DenseMap<Value, Lifted> lifted;
  std::optional<Reason> obstacle;
};

} // namespace mlir::tenon

#endif // TENON_LIB_CONVERSION_RAISELINALG_BODYLIFTER_H
