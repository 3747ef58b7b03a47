//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Moves what computes an epilogue's operand into the epilogue: a residual that
// is scaled, converted or activated is then read once, and never written.
//
//===----------------------------------------------------------------------===//

#include "tenon/Dialect/Tenon/IR/EpilogueLimits.h"
#include "tenon/Transforms/Fusion.h"

using namespace mlir;
using namespace mlir::tenon;

/// Whether `producer` computes a value of the product's shape for `fused`
/// alone. Smaller ones cost nothing where they are, and may depend on
/// parameters alone.
static bool isOwnProducer(Operation *producer, FusedLinearOp fused) {
  if (!isa_and_nonnull<ElementwiseEpilogueOp>(producer) ||
      producer->getBlock() != fused->getBlock())
    return false;
  Value result = producer->getResult(0);
  return llvm::all_equal(result.getUsers()) &&
         !llvm::is_contained({fused.getX(), fused.getW()}, result) &&
         cast<RankedTensorType>(result.getType()).getShape() ==
             fused.getProductType().getShape();
}

/// Whether a kernel takes what `fused` is with `producer` (EpilogueLimits.h).
static bool hasRoom(Operation *producer, FusedLinearOp fused) {
  ValueRange operands = fused.getEpilogueOperands();
  auto isNew = [&](Value operand) {
    return !llvm::is_contained(operands, operand);
  };
  return fused.getBody()->getOperations().size() <= kMaxEpilogueOps &&
         operands.size() - 1 + llvm::count_if(producer->getOperands(), isNew) <=
             kMaxEpilogueOperands;
}

/// Puts `producer`, which gives some epilogue operands, in front of what is in
/// the region.
static void moveIn(Operation *producer, FusedLinearOp fused,
                   RewriterBase &rewriter) {
  Block *body = fused.getBody();
  SmallVector<Value> operands(fused.getEpilogueOperands());
  IRMapping mapping;
  for (Value operand : producer->getOperands()) {
    auto known = llvm::find(operands, operand);
    unsigned position = known - operands.begin();
    if (known == operands.end()) {
      operands.push_back(operand);
      body->addArgument(operand.getType(), operand.getLoc());
    }
    mapping.map(operand, body->getArgument(position + 1));
  }
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointToStart(body);
  Operation *inner = rewriter.clone(*producer, mapping);
  for (unsigned index = operands.size(); index-- != 0;) {
    if (operands[index] != producer->getResult(0))
      continue;
    rewriter.replaceAllUsesWith(body->getArgument(index + 1),
                                inner->getResult(0));
    body->eraseArgument(index + 1);
    operands.erase(operands.begin() + index);
  }
  rewriter.modifyOpInPlace(
      fused, [&] { fused.getEpilogueOperandsMutable().assign(operands); });
  rewriter.eraseOp(producer);
}

void tenon::fuseOperands(FusedLinearOp fused, RewriterBase &rewriter) {
  for (unsigned index = 0; index < fused.getEpilogueOperands().size();) {
    Operation *producer = fused.getEpilogueOperands()[index].getDefiningOp();
    if (!isOwnProducer(producer, fused) || !hasRoom(producer, fused)) {
      ++index;
      continue;
    }
    remarkFusedOperand(producer, fused);
    moveIn(producer, fused, rewriter);
    index = 0; // what it read too, others may no longer read
  }
}
