//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How a fused op takes in one more consumer; shared by the fusion patterns.
//
//===----------------------------------------------------------------------===//

#include "tenon/Transforms/Fusion.h"

#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::tenon;

/// Clones `consumer` to the end of the region of `fused`; what it reads from
/// outside becomes an epilogue operand, each value once. `operands` holds the
/// epilogue operands and grows.
static Operation *cloneIntoRegion(Operation *consumer, FusedLinearOp fused,
                                  SmallVectorImpl<Value> &operands,
                                  RewriterBase &rewriter) {
  IRMapping mapping;
  Block *body = fused.getBody();
  for (Value operand : consumer->getOperands()) {
    if (operand.getDefiningOp() == fused) {
      unsigned number = cast<OpResult>(operand).getResultNumber();
      mapping.map(operand, fused.getYield().getValues()[number]);
      continue;
    }
    auto known = llvm::find(operands, operand);
    unsigned index = known - operands.begin();
    if (known == operands.end()) {
      operands.push_back(operand);
      body->addArgument(operand.getType(), operand.getLoc());
    }
    mapping.map(operand, body->getArgument(index + 1));
  }
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(fused.getYield());
  return rewriter.clone(*consumer, mapping);
}

/// Rebuilds `fused` with `consumer` in its region. Results that only `consumer`
/// read go; those of its own that are used come.
static void absorb(Operation *consumer, FusedLinearOp fused,
                   RewriterBase &rewriter) {
  SmallVector<Value> operands(fused.getEpilogueOperands());
  Operation *inner = cloneIntoRegion(consumer, fused, operands, rewriter);
  SmallVector<Value> yielded, replaced;
  for (auto [result, value] :
       llvm::zip(fused.getResults(), fused.getYield().getValues()))
    if (llvm::any_of(result.getUsers(),
                     [&](Operation *user) { return user != consumer; })) {
      yielded.push_back(value);
      replaced.push_back(result);
    }
  for (auto [result, value] :
       llvm::zip(consumer->getResults(), inner->getResults()))
    if (!result.use_empty()) {
      yielded.push_back(value);
      replaced.push_back(result);
    }
  rewriter.modifyOpInPlace(fused.getYield(), [&] {
    fused.getYield().getValuesMutable().assign(yielded);
  });
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(fused);
  auto grown = FusedLinearOp::create(
      rewriter, fused.getLoc(), TypeRange(ValueRange(yielded)), fused.getX(),
      fused.getW(), operands, fused.getPrecisionAttr());
  grown.inherit(fused);
  rewriter.inlineRegionBefore(fused.getEpilogue(), grown.getEpilogue(),
                              grown.getEpilogue().end());
  rewriter.replaceAllUsesWith(replaced, grown.getResults());
  rewriter.eraseOp(consumer);
  rewriter.eraseOp(fused);
}

/// The products in `consumer`'s block that it reads, the last first: there all
/// other products are available as operands.
static SmallVector<LinearLikeOp> findProducts(Operation *consumer) {
  llvm::SmallSetVector<LinearLikeOp, 2> products;
  for (Value operand : consumer->getOperands())
    if (auto producer = operand.getDefiningOp<LinearLikeOp>();
        producer && producer->getBlock() == consumer->getBlock())
      products.insert(producer);
  SmallVector<LinearLikeOp> sorted(products.begin(), products.end());
  llvm::sort(sorted, [](LinearLikeOp a, LinearLikeOp b) {
    return b->isBeforeInBlock(a);
  });
  return sorted;
}

LogicalResult tenon::fuseIntoProduct(Operation *consumer, StringRef patternName,
                                     RewriterBase &rewriter) {
  for (LinearLikeOp product : findProducts(consumer)) {
    if (findObstacle(consumer, product))
      continue;
    SmallVector<Value> others;
    for (Value operand : consumer->getOperands())
      if (operand.getDefiningOp() != product)
        others.push_back(operand);
    if (failed(moveValueDefinitions(rewriter, others, product)))
      continue;
    remarkFused(consumer, product, patternName);
    absorb(consumer, toFused(product, rewriter), rewriter);
    return success();
  }
  return failure();
}
