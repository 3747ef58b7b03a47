//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Cuts a layer at its batch norm: the product's kernel reduces what it stores,
// one more normalises it.
//
//===----------------------------------------------------------------------===//

#include "CutAtReduction.h"

#include "RestEpilogue.h"

#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace mlir::tenon;

static BatchNormTrainingOp getNorm(FusedLinearOp op) {
  return *op.getBody()->getOps<BatchNormTrainingOp>().begin();
}

/// The layer up to the norm.
static FusedLinearOp createProduct(FusedLinearOp op, int64_t rows,
                                   RewriterBase &rewriter) {
  RankedTensorType stored = getNorm(op).getInput().getType();
  auto moments = RankedTensorType::get(
      {MomentsOp::getNumRows(stored.getDimSize(0), rows), stored.getDimSize(1)},
      rewriter.getF32Type());
  auto product = FusedLinearOp::create(
      rewriter, op.getLoc(), TypeRange{stored, moments}, op.getX(), op.getW(),
      op.getEpilogueOperands(), op.getPrecisionAttr());
  product->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  rewriter.cloneRegionBefore(op.getEpilogue(), product.getEpilogue(),
                             product.getEpilogue().end());
  BatchNormTrainingOp norm = getNorm(product);
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(norm);
  Value input = norm.getInput();
  Value reduced =
      MomentsOp::create(rewriter, norm.getLoc(), moments, input, rows);
  product.getYield().getValuesMutable().assign({input, reduced});
  (void)runRegionDCE(rewriter, product.getEpilogue());
  eraseUnusedOperands(product);
  return product;
}

/// Leaves of the layer what follows the norm's input, for which the region's
/// first argument then stands.
static void dropProduct(FusedLinearOp op, Value moments, int64_t rows,
                        RewriterBase &rewriter) {
  BatchNormTrainingOp norm = getNorm(op);
  Value input = norm.getInput();
  // What computes the input still reads the product, as what it was.
  BlockArgument stored =
      op.getBody()->insertArgument(0u, input.getType(), norm.getLoc());
  rewriter.replaceAllUsesWith(input, stored);
  (void)runRegionDCE(rewriter, op.getEpilogue());
  op.getBody()->eraseArgument(1);
  op.getEpilogueOperandsMutable().append(moments);
  norm.getMomentsMutable().assign(
      op.getBody()->addArgument(moments.getType(), norm.getLoc()));
  norm.setMomentRows(rows);
}

FusedLinearOp tenon::cutAtReduction(FusedLinearOp op, int64_t rows,
                                    RewriterBase &rewriter) {
  FusedLinearOp product = createProduct(op, rows, rewriter);
  dropProduct(op, product.getResult(1), rows, rewriter);
  replaceByEpilogue(op, product.getResult(0), rewriter);
  return product;
}
