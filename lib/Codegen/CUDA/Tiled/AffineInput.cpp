//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits what scales and biases do to statistics.
//
//===----------------------------------------------------------------------===//

#include "AffineInput.h"

#include "tenon/Schedule/Checks/ReductionMethod.h"

using namespace mlir;
using namespace mlir::tenon;

std::optional<AffineInput> AffineInput::find(TiledLinearOp op,
                                             ReductionEpilogueOp reduction) {
  auto norm = dyn_cast<BatchNormTrainingOp>(reduction.getOperation());
  if (!norm || !norm.getInput().hasOneUse() ||
      !op.getBody()->getOps<arith::TruncFOp>().empty())
    return std::nullopt;
  Value kept = findKept(op.getAccumulator(), norm);
  bool isReturned = kept != norm.getInput();
  Value source = isReturned ? kept : op.getAccumulator();
  std::optional<SmallVector<AffineStep>> steps = findAffineSteps(source, norm);
  auto isF64 = [](const AffineStep &step) {
    return step.operand && getElementTypeOrSelf(step.operand).isF64();
  };
  if (!steps || (steps->empty() && !isReturned) || llvm::any_of(*steps, isF64))
    return std::nullopt;
  AffineInput input;
  input.source = source;
  input.steps = std::move(*steps);
  return input;
}

void AffineInput::load(KernelBuilder &b, ElementEmitter &emitter) {
  factor = shift = Value();
  auto multiply = [&](Value &value, Value by) {
    value = value ? arith::MulFOp::create(b, value, by) : by;
  };
  for (const AffineStep &step : steps) {
    Value value = step.operand
                      ? emitter.get(step.operand, /*row=*/0, /*lane=*/0)
                      : b.f32(static_cast<float>(step.scalar));
    if (!step.isScale) {
      shift = shift ? arith::AddFOp::create(b, shift, value) : value;
      continue;
    }
    multiply(factor, value);
    if (shift)
      multiply(shift, value);
  }
}

SmallVector<Value> AffineInput::mapState(KernelBuilder &b, ValueRange state) {
  Value mean = state[0], m2 = state[1];
  if (factor) {
    mean = arith::MulFOp::create(b, mean, factor);
    for (int64_t twice = 0; twice != 2; ++twice)
      m2 = arith::MulFOp::create(b, m2, factor);
  }
  if (shift)
    mean = arith::AddFOp::create(b, mean, shift);
  return {mean, m2};
}

void AffineInput::adapt(KernelBuilder &b, ValueRange ofProducts,
                        ValueRange ofInput, MutableArrayRef<Value> finished) {
  finished[0] = ofProducts[0];
  // The shift cancels, unless it is NaN or infinite, or the sum is.
  if (shift)
    finished[0] = arith::AddFOp::create(
        b, finished[0], arith::SubFOp::create(b, ofInput[0], ofInput[0]));
  if (factor)
    finished[1] = arith::MulFOp::create(b, finished[1], factor);
}
