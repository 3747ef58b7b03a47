//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Takes one op of linalg for what it computes of matrices.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CONVERSION_RAISELINALG_RAISER_H
#define TENON_LIB_CONVERSION_RAISELINALG_RAISER_H

#include "Operands.h"

#include "tenon/Remarks/Reason.h"

namespace mlir::tenon {

/// What a scalar of a body stands for when the body is taken for all elements
/// at once: a tensor, or a number.
struct Lifted {
  Value tensor;
  TypedAttr number;
};

/// Takes one op; its ops of tenon come ahead of it. Those of a raise that is
/// given up are left dead.
class Raiser {
public:
  explicit Raiser(linalg::LinalgOp op)
      : op(op), builder(op), loc(op.getLoc()) {}

  /// What the op's results are, empty if it cannot be taken.
  SmallVector<Value> run();
  /// Why it cannot, after that.
  const std::optional<Reason> &getObstacle() const { return obstacle; }

private:
  SmallVector<Value> raiseElementwise();
  SmallVector<Value> raiseProduct();
  SmallVector<Value> raiseReduction();

  template <typename... Ts>
  std::nullptr_t refuse(ReasonCode code, const Ts &...data) {
    if (!obstacle)
      obstacle.emplace(code, data...);
    return nullptr;
  }

  // Operands
  using Loops = SmallVector<unsigned, 2>;
  /// The loops that are rows and columns of the matrices, at most two: those of
  /// more than one iteration, with others where those are less.
  std::optional<Loops> getLoops();
  /// The tensor that `view` reads, in a shape that broadcasts to that of
  /// `loops`; null if it has none.
  Value arrange(View view, ArrayRef<unsigned> loops);
  /// `value` in the type of the op's result.
  Value toResult(Value value, Value result);
  /// Whether `tensor` has an element for each iteration of `loops`.
  bool isOfAll(Value tensor, ArrayRef<unsigned> loops);
  /// What the arguments of the op's body are; false if one cannot be said.
  bool liftArguments(ArrayRef<unsigned> loops,
                     llvm::DenseMap<Value, Lifted> &lifted);

  // Products
  /// `view` as a matrix of two loops, of which one may be missing; sets whether
  /// they are in the other order.
  Value getMatrix(View view, std::optional<unsigned> rows,
                  std::optional<unsigned> columns, bool &isTransposed);
  std::optional<unsigned> getOnlyLoop(ArrayRef<unsigned> loops, bool &isOne);

  linalg::LinalgOp op;
  OpBuilder builder;
  Location loc;
  std::optional<Reason> obstacle;
};

} // namespace mlir::tenon

#endif // TENON_LIB_CONVERSION_RAISELINALG_RAISER_H
