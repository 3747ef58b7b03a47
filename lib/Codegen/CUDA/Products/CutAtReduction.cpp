//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Cuts a layer at its reductions: the product's kernel reduces what it has, one
// more normalises it or combines the moments.
//
//===----------------------------------------------------------------------===//

#include "CutAtReduction.h"

#include "RestEpilogue.h"

#include "tenon/Schedule/Checks/ReductionMethod.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::tenon;

static SmallVector<ReductionEpilogueOp> getReductions(FusedLinearOp op) {
  return llvm::to_vector(op.getBody()->getOps<ReductionEpilogueOp>());
}

/// Has what is reduced computed of what is stored as that is rounded: the next
/// kernel has no more of it. The yield keeps the value itself.
static void roundStored(FusedLinearOp product, Value stored,
                        RewriterBase &rewriter) {
  auto type = cast<RankedTensorType>(stored.getType());
  auto isOfOther = [&](ReductionEpilogueOp reduction) {
    return !isa<BatchSumOp>(reduction) && reduction.getReducedInput() != stored;
  };
  if (type.getElementTypeBitWidth() != 16 ||
      llvm::none_of(getReductions(product), isOfOther))
    return;
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointAfterValue(stored);
  Location loc = product.getLoc();
  auto wide =
      CastOp::create(rewriter, loc, type.clone(rewriter.getF32Type()), stored);
  auto rounded = arith::TruncFOp::create(rewriter, loc, type, wide);
  rewriter.replaceAllUsesExcept(stored, rounded, wide);
}

/// The layer up to its reductions.
static FusedLinearOp createProduct(FusedLinearOp op, int64_t rows,
                                   RewriterBase &rewriter) {
  SmallVector<Type> types{getStored(op).getType()};
  for (ReductionEpilogueOp reduction : getReductions(op)) {
    auto input = cast<RankedTensorType>(reduction.getReducedInput().getType());
    bool sums = isa<BatchSumOp>(reduction);
    types.push_back(RankedTensorType::get(
        {MomentsOp::getNumRows(input, rows, sums), input.getDimSize(1)},
        rewriter.getF32Type()));
  }
  auto product =
      FusedLinearOp::create(rewriter, op.getLoc(), types, op.getX(), op.getW(),
                            op.getEpilogueOperands(), op.getPrecisionAttr());
  product.inherit(op);
  rewriter.cloneRegionBefore(op.getEpilogue(), product.getEpilogue(),
                             product.getEpilogue().end());
  OpBuilder::InsertionGuard guard(rewriter);
  SmallVector<Value> yielded{getStored(product)};
  roundStored(product, yielded.front(), rewriter);
  for (auto [reduction, type] :
       llvm::zip(getReductions(product), ArrayRef(types).drop_front())) {
    rewriter.setInsertionPoint(reduction);
    yielded.push_back(MomentsOp::create(rewriter, reduction.getLoc(), type,
                                        reduction.getReducedInput(), rows,
                                        /*sums=*/isa<BatchSumOp>(reduction)));
  }
  product.getYield().getValuesMutable().assign(yielded);
  (void)runRegionDCE(rewriter, product.getEpilogue());
  eraseUnusedOperands(product);
  return product;
}

/// Leaves of the layer what follows what is stored, for which the region's
/// first argument then stands.
static void dropProduct(FusedLinearOp op, ValueRange moments, int64_t rows,
                        RewriterBase &rewriter) {
  Value stored = getStored(op);
  // What computes it still reads the product, as what it was.
  BlockArgument kept =
      op.getBody()->insertArgument(0u, stored.getType(), op.getLoc());
  rewriter.replaceAllUsesWith(stored, kept);
  op.getEpilogueOperandsMutable().append(moments);
  for (auto [reduction, given] : llvm::zip(getReductions(op), moments)) {
    Value argument =
        op.getBody()->addArgument(given.getType(), reduction.getLoc());
    llvm::TypeSwitch<Operation *>(reduction)
        .Case<BatchNormTrainingOp, BatchMomentsOp, BatchSumOp>(
            [&](auto reduced) {
              reduced.getMomentsMutable().assign(argument);
              reduced.setMomentRows(rows);
              // Of what is reduced, rows are all that is read; what is
              // normalised follows from what is stored.
              if (!isa<BatchNormTrainingOp>(reduced))
                reduced.getInputMutable().assign(kept);
            });
  }
  (void)runRegionDCE(rewriter, op.getEpilogue());
  op.getBody()->eraseArgument(1);
}

FusedLinearOp tenon::cutAtReduction(FusedLinearOp op, int64_t rows,
                                    RewriterBase &rewriter) {
  FusedLinearOp product = createProduct(op, rows, rewriter);
  dropProduct(op, product.getResults().drop_front(), rows, rewriter);
  replaceByEpilogue(op, product.getResult(0), rewriter);
  return product;
}
