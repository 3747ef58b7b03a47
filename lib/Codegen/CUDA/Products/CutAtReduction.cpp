//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Cuts a layer at its reduction: the product's kernel reduces what it stores,
// one more normalises it or combines the moments.
//
//===----------------------------------------------------------------------===//

#include "CutAtReduction.h"

#include "RestEpilogue.h"

#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::tenon;

static ReductionEpilogueOp getReduction(FusedLinearOp op) {
  return *op.getBody()->getOps<ReductionEpilogueOp>().begin();
}

/// The layer up to the reduction.
static FusedLinearOp createProduct(FusedLinearOp op, int64_t rows,
                                   RewriterBase &rewriter) {
  auto stored =
      cast<RankedTensorType>(getReduction(op).getReducedInput().getType());
  auto moments = RankedTensorType::get(
      {MomentsOp::getNumRows(stored, rows), stored.getDimSize(1)},
      rewriter.getF32Type());
  auto product = FusedLinearOp::create(
      rewriter, op.getLoc(), TypeRange{stored, moments}, op.getX(), op.getW(),
      op.getEpilogueOperands(), op.getPrecisionAttr());
  product.inherit(op);
  rewriter.cloneRegionBefore(op.getEpilogue(), product.getEpilogue(),
                             product.getEpilogue().end());
  ReductionEpilogueOp reduction = getReduction(product);
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(reduction);
  Value input = reduction.getReducedInput();
  Value reduced =
      MomentsOp::create(rewriter, reduction.getLoc(), moments, input, rows);
  product.getYield().getValuesMutable().assign({input, reduced});
  (void)runRegionDCE(rewriter, product.getEpilogue());
  eraseUnusedOperands(product);
  return product;
}

/// Leaves of the layer what follows the reduction's input, for which the
/// region's first argument then stands.
static void dropProduct(FusedLinearOp op, Value moments, int64_t rows,
                        RewriterBase &rewriter) {
  ReductionEpilogueOp reduction = getReduction(op);
  Value input = reduction.getReducedInput();
  // What computes the input still reads the product, as what it was.
  BlockArgument stored =
      op.getBody()->insertArgument(0u, input.getType(), reduction.getLoc());
  rewriter.replaceAllUsesWith(input, stored);
  (void)runRegionDCE(rewriter, op.getEpilogue());
  op.getBody()->eraseArgument(1);
  op.getEpilogueOperandsMutable().append(moments);
  Value argument =
      op.getBody()->addArgument(moments.getType(), reduction.getLoc());
  llvm::TypeSwitch<Operation *>(reduction)
      .Case<BatchNormTrainingOp, BatchMomentsOp, BatchSumOp>([&](auto given) {
        given.getMomentsMutable().assign(argument);
        given.setMomentRows(rows);
      });
}

FusedLinearOp tenon::cutAtReduction(FusedLinearOp op, int64_t rows,
                                    RewriterBase &rewriter) {
  FusedLinearOp product = createProduct(op, rows, rewriter);
  dropProduct(op, product.getResult(1), rows, rewriter);
  replaceByEpilogue(op, product.getResult(0), rewriter);
  return product;
}
