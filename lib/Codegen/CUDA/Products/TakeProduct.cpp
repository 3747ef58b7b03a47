//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Cuts layers behind their products.
//
//===----------------------------------------------------------------------===//

#include "TakeProduct.h"

#include "RestEpilogue.h"

#include "tenon/Schedule/Checks/EpilogueObstacle.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace mlir::tenon;

/// Whether all that a region yields of its product it computes of `value`.
static bool isCut(Block &body, Value value) {
  llvm::SmallPtrSet<Value, 16> reached{body.getArgument(0)};
  auto isReached = [&](Value operand) { return reached.contains(operand); };
  for (Operation &op : body.without_terminator())
    for (Value result : op.getResults())
      if (result != value && llvm::any_of(op.getOperands(), isReached))
        reached.insert(result);
  return llvm::none_of(body.getTerminator()->getOperands(), isReached);
}

/// What a kernel of the product stores: the first value that everything else
/// follows from among those with the fewest bytes; null if that is the product.
static Value findStored(FusedLinearOp op) {
  auto getBits = [](Value value) {
    return getElementTypeOrSelf(value).getIntOrFloatBitWidth();
  };
  Block &body = *op.getBody();
  ArrayRef<int64_t> shape = op.getProductType().getShape();
  Value stored;
  unsigned bits = getBits(op.getAccumulator());
  for (Operation &inner : body.without_terminator()) {
    if (!isa<ElementwiseEpilogueOp>(inner) &&
        !inner.hasTrait<OpTrait::ConstantLike>())
      break;
    Value value = inner.getResult(0);
    if (cast<ShapedType>(value.getType()).getShape() == shape &&
        getBits(value) < bits && isCut(body, value)) {
      stored = value;
      bits = getBits(value);
    }
  }
  return stored;
}

/// The layer that gives `stored`, of `op`'s region; null if no tile computes
/// that.
static FusedLinearOp createUpTo(FusedLinearOp op, Value stored,
                                RewriterBase &rewriter) {
  auto product = FusedLinearOp::create(
      rewriter, op.getLoc(), TypeRange(stored.getType()), op.getX(), op.getW(),
      op.getEpilogueOperands(), op.getPrecisionAttr());
  product.inherit(op);
  IRMapping copies;
  op.getEpilogue().cloneInto(&product.getEpilogue(), copies);
  product.getYield().getValuesMutable().assign(copies.lookup(stored));
  (void)runRegionDCE(rewriter, product.getEpilogue());
  eraseUnusedOperands(product);
  if (!findEpilogueObstacle(product))
    return product;
  rewriter.eraseOp(product);
  return {};
}

FusedLinearOp tenon::takeProduct(FusedLinearOp op, RewriterBase &rewriter) {
  Value stored = findStored(op);
  FusedLinearOp product;
  if (stored)
    product = createUpTo(op, stored, rewriter);
  if (product) {
    Block *body = op.getBody();
    BlockArgument instead =
        body->insertArgument(0u, stored.getType(), op.getLoc());
    rewriter.replaceAllUsesWith(stored, instead);
    (void)runRegionDCE(rewriter, op.getEpilogue());
    body->eraseArgument(1);
  } else {
    product =
        FusedLinearOp::create(rewriter, op.getLoc(), op.getX(), op.getW(),
                              Type(op.getProductType()), op.getPrecisionAttr());
    product.setLayoutAttr(op.getLayoutAttr());
  }
  replaceByEpilogue(op, product.getResult(0), rewriter);
  return product;
}
