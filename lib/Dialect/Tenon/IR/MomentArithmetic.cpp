//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The arithmetic on moments that reductions share.
//
//===----------------------------------------------------------------------===//

#include "MomentArithmetic.h"

#include "ScalarEmitter.h"

#include <limits>

using namespace mlir;
using namespace mlir::tenon;

SmallVector<Value> momentArithmetic::emitInit(OpBuilder &builder, Location loc,
                                              Type type) {
  Value zero = ScalarEmitter{builder, loc, type}.constant(0.0);
  return {zero, zero};
}

SmallVector<Value> momentArithmetic::emitChunk(OpBuilder &builder, Location loc,
                                               ValueRange elements) {
  ScalarEmitter e{builder, loc, elements[0].getType()};
  // Relative to the first element: a sum of large numbers would round away what
  // they differ by.
  Value origin = elements[0];
  if (elements.size() == 1)
    return {origin, e.constant(0.0)};
  SmallVector<Value> distances;
  for (Value element : elements.drop_front())
    distances.push_back(e.sub(element, origin));
  Value sum = distances[0];
  for (Value distance : ArrayRef(distances).drop_front())
    sum = e.add(sum, distance);
  Value mean = e.mul(sum, e.constant(1.0 / elements.size()));
  Value m2 = e.mul(mean, mean); // the first element's
  for (Value distance : distances) {
    Value rest = e.sub(distance, mean);
    m2 = e.add(e.mul(rest, rest), m2);
  }
  return {e.add(origin, mean), m2};
}

/// Adds up as a few chains: one alone would be as long as the elements.
static Value emitChains(ScalarEmitter &e, ValueRange elements,
                        llvm::function_ref<Value(Value, Value)> add) {
  constexpr size_t kChains = 4;
  SmallVector<Value> sums(std::min(kChains, elements.size()), e.constant(0.0));
  for (auto [index, element] : llvm::enumerate(elements)) {
    Value &sum = sums[index % kChains];
    sum = add(element, sum);
  }
  Value total = sums.front();
  for (Value sum : ArrayRef(sums).drop_front())
    total = e.add(total, sum);
  return total;
}

/// M2 = sum d^2 - n mean^2. Of distances from a number that is c deviations off
/// the mean, log2(1 + c^2) bits cancel.
SmallVector<Value> momentArithmetic::emitDistances(OpBuilder &builder,
                                                   Location loc, Value count,
                                                   ValueRange distances) {
  ScalarEmitter e{builder, loc, count.getType()};
  auto fma = [&](Value a, Value b, Value c) -> Value {
    return math::FmaOp::create(builder, loc, a, b, c);
  };
  Value one = e.constant(1.0);
  Value share = e.div(one, arith::MaximumFOp::create(builder, loc, count, one));
  // Not a sum that is divided, which could be more than the type holds.
  Value mean = emitChains(e, distances, [&](Value distance, Value sum) {
    return fma(distance, share, sum);
  });
  Value squares = emitChains(e, distances, [&](Value distance, Value sum) {
    return fma(distance, distance, sum);
  });
  Value negated = arith::NegFOp::create(builder, loc, e.mul(count, mean));
  Value m2 = arith::MaximumFOp::create(
      builder, loc, fma(negated, mean, squares), e.constant(0.0));
  // Infinite squares stay so, rather than infinity less infinity.
  Value isFinite =
      e.greater(e.constant(std::numeric_limits<double>::infinity()), squares);
  return {mean, e.select(isFinite, m2, squares)};
}

/// Chan's rule: mean = mA + d nB / n, M2 = M2A + M2B + d^2 nA nB / n,
/// d = mB - mA, n = nA + nB.
SmallVector<Value> momentArithmetic::emitCombine(OpBuilder &builder,
                                                 Location loc, Value lhsCount,
                                                 ValueRange lhs, Value rhsCount,
                                                 ValueRange rhs) {
  ScalarEmitter e{builder, loc, lhsCount.getType()};
  // Two empty sets: divide by 1, not 0.
  Value total = e.add(lhsCount, rhsCount);
  Value divisor =
      arith::MaximumFOp::create(builder, loc, total, e.constant(1.0));
  Value share = e.div(rhsCount, divisor);
  Value delta = e.sub(rhs[0], lhs[0]);
  Value step = e.mul(delta, share);
  Value mean = e.add(lhs[0], step);
  Value between = e.mul(e.mul(delta, step), lhsCount);
  return {mean, e.add(e.add(lhs[1], rhs[1]), between)};
}

Value momentArithmetic::getOrigin(ValueRange state) { return state[0]; }

SmallVector<Value> momentArithmetic::emitMove(OpBuilder &builder, Location loc,
                                              ValueRange state, Value amount) {
  ScalarEmitter e{builder, loc, amount.getType()};
  return {e.add(state[0], amount), state[1]};
}
