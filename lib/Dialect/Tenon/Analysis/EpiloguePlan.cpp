//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Cuts an epilogue at its reductions.
//
//===----------------------------------------------------------------------===//

#include "tenon/Dialect/Tenon/Analysis/EpiloguePlan.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::tenon;

bool EpiloguePhase::isHeavy() const {
  return llvm::any_of(ops, [](Operation *op) {
    return (op->hasTrait<OpTrait::tenon::Transcendental>() ||
            op->hasTrait<OpTrait::tenon::Divides>() ||
            isa<math::MathDialect>(op->getDialect())) &&
           EpiloguePlan::variesByRow(op->getResultTypes()[0]);
  });
}

bool EpiloguePhase::divides() const {
  return llvm::any_of(ops, [](Operation *op) {
    return op->hasTrait<OpTrait::tenon::Divides>();
  });
}

bool EpiloguePlan::variesByRow(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return tensor.getRank() == 2 && tensor.getDimSize(0) != 1;
}

bool EpiloguePlan::readsRowOperandFirst() const {
  return llvm::any_of(phases.front().operands, [](BlockArgument operand) {
    return operand.getArgNumber() != 0 && variesByRow(operand.getType());
  });
}

bool EpiloguePlan::variesByColumn(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return tensor.getRank() >= 1 && tensor.getShape().back() != 1;
}

Value EpiloguePlan::getMoments(ReductionEpilogueOp reduction) {
  return llvm::TypeSwitch<Operation *, Value>(reduction)
      .Case<BatchNormTrainingOp, BatchMomentsOp, BatchSumOp>(
          [](auto op) { return op.getMoments(); })
      .Default(Value());
}

int64_t EpiloguePlan::getMomentRows(ReductionEpilogueOp reduction) {
  return llvm::TypeSwitch<Operation *, int64_t>(reduction)
      .Case<BatchNormTrainingOp, BatchMomentsOp, BatchSumOp>(
          [](auto op) { return *op.getMomentRows(); });
}

bool EpiloguePlan::isMoments(BlockArgument argument) {
  return llvm::any_of(argument.getUsers(), [&](Operation *user) {
    auto reduction = dyn_cast<ReductionEpilogueOp>(user);
    return reduction && getMoments(reduction) == argument;
  });
}

EpiloguePhase EpiloguePlan::getPhase(Block &body, ValueRange values) {
  SmallVector<Value> roots(values);
  EpiloguePhase phase;
  llvm::SmallPtrSet<Operation *, 8> ops;
  llvm::SmallPtrSet<Value, 8> arguments;
  while (!roots.empty()) {
    Value value = roots.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!op)
      arguments.insert(value);
    else if (ops.insert(op).second)
      llvm::append_range(roots, op->getOperands());
  }
  for (BlockArgument argument : body.getArguments())
    if (arguments.contains(argument) && !isMoments(argument))
      phase.operands.push_back(argument);
  for (Operation &op : body) {
    if (!ops.contains(&op))
      continue;
    phase.ops.push_back(&op);
    if (auto reduction = dyn_cast<ReductionEpilogueOp>(op))
      phase.finished.push_back(reduction);
  }
  return phase;
}

static LogicalResult checkColumnResults(ReductionEpilogueOp op) {
  for (Value result : op.getColumnResults())
    for (Operation *user : result.getUsers())
      if (!isa<YieldOp>(user))
        return user->emitOpError("reads a per-column result of '")
               << op->getName()
               << "' in the same epilogue; only the epilogue's "
               << "yield can";
  return success();
}

FailureOr<EpiloguePlan> EpiloguePlan::get(Block &body) {
  EpiloguePlan plan;
  auto widen = [&](Type type) {
    if (variesByRow(type))
      plan.shape[0] = cast<RankedTensorType>(type).getDimSize(0);
    if (!variesByColumn(type))
      return;
    // Fewer are those of groups; none, or a number that is not known, is
    // refused by all.
    auto isRefused = [](int64_t columns) {
      return columns == 0 || ShapedType::isDynamic(columns);
    };
    int64_t columns = cast<RankedTensorType>(type).getShape().back();
    if (!isRefused(plan.shape[1]) &&
        (columns > plan.shape[1] || isRefused(columns)))
      plan.shape[1] = columns;
  };
  for (BlockArgument argument : body.getArguments())
    if (!isMoments(argument))
      widen(argument.getType());
  for (Operation &op : body)
    llvm::for_each(op.getResultTypes(), widen);

  EpiloguePhase last = getPhase(body, body.getTerminator()->getOperands());
  for (ReductionEpilogueOp reduction : last.finished) {
    if (failed(checkColumnResults(reduction)))
      return failure();
    if (getMoments(reduction))
      continue;
    plan.phases.push_back(getPhase(body, reduction.getReducedInput()));
    plan.phases.back().reduction = reduction;
  }
  plan.phases.push_back(std::move(last));
  return plan;
}
