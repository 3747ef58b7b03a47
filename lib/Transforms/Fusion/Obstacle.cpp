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
#include "tenon/Dialect/Tenon/IR/EpilogueOps.h"
#include "tenon/Transforms/Fusion.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::tenon;

bool tenon::isFullResult(Value value) {
  auto product = value.getDefiningOp<LinearLikeOp>();
  return product && cast<RankedTensorType>(value.getType()).getShape() ==
                        product.getProductType().getShape();
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
static size_t countOperands(Operation *consumer, LinearLikeOp product) {
  llvm::SmallSetVector<Value, 8> operands;
  operands.insert_range(product.getEpilogueInputs());
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

static bool isLong(LinearLikeOp product) {
  Block *body = product.getEpilogueBody();
  return body && body->getOperations().size() > kMaxEpilogueOps;
}

template <typename OpTy> static bool reduces(LinearLikeOp product) {
  Block *body = product.getEpilogueBody();
  return body && !body->getOps<OpTy>().empty();
}

/// Into how many groups the region's reductions divide each row; nothing if it
/// reduces no rows.
static std::optional<int64_t> getGroups(LinearLikeOp product) {
  if (!reduces<ReduceRowOp>(product))
    return std::nullopt;
  return (*product.getEpilogueBody()->getOps<ReduceRowOp>().begin())
      .getGroups();
}

/// Whether a tensor has one value for each row of a product, or for each group
/// that its region reduces.
static bool isOfRows(RankedTensorType type, LinearLikeOp product) {
  int64_t m = product.getProductType().getDimSize(0);
  return type.getRank() == 2 && type.getDimSize(0) == m &&
         (type.getDimSize(1) == 1 || type.getDimSize(1) == getGroups(product));
}

/// What keeps a reduction of rows from those that the product's region has: a
/// group is reduced once, and all have the same.
static std::optional<Reason> findGroupObstacle(ReduceRowOp consumer,
                                               LinearLikeOp product) {
  std::optional<int64_t> groups = getGroups(product);
  int64_t own = consumer.getGroups();
  if (!groups || groups == own)
    return std::nullopt;
  return Reason(ReasonCode::OtherGroups, own, *groups);
}

std::optional<Reason> tenon::findObstacle(Operation *consumer,
                                          LinearLikeOp product) {
  if (!isEpilogueOp(consumer))
    return Reason(ReasonCode::NotAnEpilogueOp, nameOf(consumer));
  if (consumer->getBlock() != product->getBlock())
    return Reason(ReasonCode::OtherBlock);
  RankedTensorType expected = product.getProductType();
  auto reduction = dyn_cast<ReductionEpilogueOp>(consumer);
  Value mapped =
      reduction ? reduction.getReducedInput() : consumer->getResult(0);
  if (isa<ReduceRowOp>(consumer))
    mapped = consumer->getOperand(0);
  auto result = cast<RankedTensorType>(mapped.getType());
  if (result.getShape() != expected.getShape() && !isOfRows(result, product))
    return Reason(ReasonCode::OtherShape, toString(result), toString(expected));
  if (auto ofRows = dyn_cast<ReduceRowOp>(consumer))
    if (auto obstacle = findGroupObstacle(ofRows, product))
      return obstacle;
  for (Value operand : consumer->getOperands())
    if (operand.getDefiningOp() == product &&
        cast<RankedTensorType>(operand.getType()).getRank() == 1)
      return Reason(ReasonCode::ColumnOperand);
  if ((reduction && reduces<ReduceRowOp>(product)) ||
      (isa<ReduceRowOp>(consumer) && reduces<ReductionEpilogueOp>(product)))
    return Reason(ReasonCode::OtherAxis);
  if (countOperands(consumer, product) > kMaxEpilogueOperands)
    return Reason(ReasonCode::ManyOperands, kMaxEpilogueOperands);
  if (countResults(consumer, product) > kMaxEpilogueResults)
    return Reason(ReasonCode::ManyResults, kMaxEpilogueResults);
  if (isLong(product))
    return Reason(ReasonCode::ManyOps, kMaxEpilogueOps);
  return std::nullopt;
}

Reason tenon::describeLateOperand(Operation *consumer, Operation *product) {
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
    return Reason(ReasonCode::SideEffects,
                  blocking == slice.end() ? "an op" : nameOf(*blocking));
  }
  auto reader = llvm::find_if(slice, [&](Operation *op) {
    return llvm::any_of(product->getUsers(),
                        [&](Operation *user) { return op->isAncestor(user); });
  });
  return Reason(ReasonCode::DependsOnProduct, nameOf(*reader));
}
