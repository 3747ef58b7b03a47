//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What keeps a consumer out of an epilogue, in terms of the two ops.
//
//===----------------------------------------------------------------------===//

#include "tenon/Dialect/Tenon/IR/EpilogueLimits.h"
#include "tenon/Transforms/Fusion.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::tenon;

RankedTensorType tenon::getAccumulatorType(Operation *product) {
  if (auto fused = dyn_cast<FusedLinearOp>(product))
    return cast<RankedTensorType>(fused.getAccumulator().getType());
  return cast<LinearOp>(product).getType();
}

bool tenon::isFullResult(Value value) {
  Operation *product = value.getDefiningOp();
  return isProduct(product) &&
         cast<RankedTensorType>(value.getType()).getShape() ==
             getAccumulatorType(product).getShape();
}

static std::string toString(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

static std::string nameOf(Operation *op) {
  return op->getName().getStringRef().str();
}

/// The epilogue operands that `product` would have with `consumer`.
static size_t countOperands(Operation *consumer, Operation *product) {
  llvm::SmallSetVector<Value, 8> operands;
  if (auto fused = dyn_cast<FusedLinearOp>(product))
    operands.insert_range(fused.getEpilogueOperands());
  else if (Value bias = cast<LinearOp>(product).getBias())
    operands.insert(bias);
  for (Value operand : consumer->getOperands())
    if (operand.getDefiningOp() != product)
      operands.insert(operand);
  return operands.size();
}

/// The results: those that others read too, and what the consumer adds.
static size_t countResults(Operation *consumer, Operation *product) {
  auto isKept = [&](OpResult result) {
    return llvm::any_of(result.getUsers(),
                        [&](Operation *user) { return user != consumer; });
  };
  return consumer->getNumResults() +
         llvm::count_if(product->getResults(), isKept);
}

static bool isLong(Operation *product) {
  auto fused = dyn_cast<FusedLinearOp>(product);
  return fused && fused.getBody()->getOperations().size() > kMaxEpilogueOps;
}

std::optional<FusionObstacle> tenon::findObstacle(Operation *consumer,
                                                  Operation *product) {
  if (!isa<ElementwiseEpilogueOp, ReductionEpilogueOp>(consumer))
    return FusionObstacle{"NotAnEpilogueOp",
                          nameOf(consumer) +
                              " is neither elementwise nor a reduction of the "
                              "tenon dialect",
                          "write it with tenon ops"};
  if (consumer->getBlock() != product->getBlock())
    return FusionObstacle{"OtherBlock",
                          "it is in another block than the product",
                          "compute it in the block of the product"};
  RankedTensorType expected = getAccumulatorType(product);
  auto reduction = dyn_cast<ReductionEpilogueOp>(consumer);
  Value mapped =
      reduction ? reduction.getReducedInput() : consumer->getResult(0);
  auto result = cast<RankedTensorType>(mapped.getType());
  if (result.getShape() != expected.getShape())
    return FusionObstacle{"OtherShape",
                          "its result is " + toString(result) +
                              ", but the product is " + toString(expected),
                          "broadcast the linear's input instead, or put the "
                          "ops of the product's shape before this one"};
  for (Value operand : consumer->getOperands())
    if (operand.getDefiningOp() == product && !isFullResult(operand))
      return FusionObstacle{
          "ColumnOperand",
          "it also reads a per-column result of the same fused op",
          "use the values from before the batch, which are available earlier"};
  if (countOperands(consumer, product) > kMaxEpilogueOperands)
    return FusionObstacle{"ManyOperands",
                          "the epilogue would have more than " +
                              std::to_string(kMaxEpilogueOperands) +
                              " operands, and a kernel takes no more",
                          "it is computed by another kernel; combine operands "
                          "beforehand where that can be"};
  if (countResults(consumer, product) > kMaxEpilogueResults)
    return FusionObstacle{"ManyResults",
                          "the epilogue would have more than " +
                              std::to_string(kMaxEpilogueResults) +
                              " results, and a kernel gives no more",
                          "it is computed by another kernel"};
  if (isLong(product))
    return FusionObstacle{"ManyOps",
                          "the epilogue has " +
                              std::to_string(kMaxEpilogueOps) +
                              " ops, and longer ones take too long to compile",
                          "it is computed by another kernel"};
  return std::nullopt;
}

FusionObstacle tenon::describeLateOperand(Operation *consumer,
                                          Operation *product) {
  llvm::SetVector<Operation *> slice;
  BackwardSliceOptions options;
  options.omitBlockArguments = true;
  options.omitUsesFromAbove = false;
  options.filter = [&](Operation *op) {
    return op->getBlock() == product->getBlock() &&
           !op->isBeforeInBlock(product);
  };
  for (Value operand : consumer->getOperands())
    if (Operation *producer = operand.getDefiningOp();
        producer && producer != product && options.filter(producer)) {
      (void)getBackwardSlice(producer, &slice, options);
      slice.insert(producer);
    }
  if (!slice.contains(product)) {
    auto blocking = llvm::find_if(
        slice, [](Operation *op) { return !isMemoryEffectFree(op); });
    return {"SideEffects",
            "an operand comes from " +
                (blocking == slice.end() ? "an op" : nameOf(*blocking)) +
                ", which has side effects and cannot move before the product",
            "compute the operand before the linear"};
  }
  auto reader = llvm::find_if(slice, [&](Operation *op) {
    return llvm::any_of(op->getOperands(), [&](Value operand) {
      return operand.getDefiningOp() == product;
    });
  });
  std::string through =
      reader == slice.end() ? "" : " through " + nameOf(*reader);
  return {"DependsOnProduct",
          "an operand depends on the product itself" + through,
          "write what lies between with ops that can be in an epilogue"};
}
