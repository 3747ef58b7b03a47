//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Cuts a tiled layer at its reduction.
//
//===----------------------------------------------------------------------===//

#include "SeparateReduction.h"

#include "tenon/Schedule/Checks/ReductionMethod.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace mlir::tenon;

/// What lies between both parts: what is reduced along M, or what else gives it
/// and is read after it; where rows are reduced the product.
static Value getReduced(Block &body) {
  auto norms = body.getOps<BatchNormTrainingOp>();
  auto reductions = body.getOps<ReductionEpilogueOp>();
  if (!norms.empty())
    return findKept(body.getArgument(0), *norms.begin());
  return reductions.empty() ? Value(body.getArgument(0))
                            : (*reductions.begin()).getReducedInput();
}

MemRefType tenon::getReducedType(TiledLinearOp op) {
  auto type = cast<RankedTensorType>(getReduced(*op.getBody()).getType());
  return MemRefType::get(type.getShape(), type.getElementType());
}

MemRefType tenon::getMomentsType(TiledLinearOp op) {
  auto type = cast<RankedTensorType>(getReduced(*op.getBody()).getType());
  int64_t rows = MomentsOp::getNumRows(type, op.getSchedule().getMomentRows(),
                                       /*sums=*/false);
  return MemRefType::get({rows, type.getDimSize(1)},
                         Float32Type::get(op.getContext()));
}

/// Has the product's region yield moments of what is reduced too.
static void yieldMoments(RewriterBase &rewriter, TiledLinearOp product,
                         Value moments) {
  OpBuilder::InsertionGuard guard(rewriter);
  YieldOp yield = product.getYield();
  rewriter.setInsertionPoint(yield);
  Value reduced = MomentsOp::create(
      rewriter, product.getLoc(), EpilogueOp::getTensorType(moments.getType()),
      yield.getValues()[0], product.getSchedule().getMomentRows());
  yield.getValuesMutable().append(reduced);
}

static TiledLinearOp createProduct(RewriterBase &rewriter, TiledLinearOp op,
                                   Value buffer, Value moments) {
  SmallVector<Value> outputs{buffer};
  if (moments)
    outputs.push_back(moments);
  auto product = TiledLinearOp::create(
      rewriter, op.getLoc(), op.getX(), op.getW(), op.getFactors(),
      op.getInputs(), outputs, /*workspace=*/Value(),
      op.getSchedule().withReduction(moments ? ReductionMethod::TwoPhase
                                             : ReductionMethod::Separate),
      op.getLayoutAttr());
  IRMapping mapping;
  op.getEpilogue().cloneInto(&product.getEpilogue(), mapping);
  product.getYield().getValuesMutable().assign(getReduced(*product.getBody()));
  (void)runRegionDCE(rewriter, product.getEpilogue());
  if (moments)
    yieldMoments(rewriter, product, moments);
  return product;
}

static EpilogueOp createRest(RewriterBase &rewriter, TiledLinearOp op,
                             Value buffer, Value moments) {
  SmallVector<Value> inputs{buffer};
  llvm::append_range(inputs, op.getInputs());
  if (moments)
    inputs.push_back(moments);
  auto rest =
      EpilogueOp::create(rewriter, op.getLoc(), inputs, op.getOutputs());
  IRMapping mapping;
  op.getEpilogue().cloneInto(&rest.getEpilogue(), mapping);
  Block *body = rest.getBody();
  Value reduced = getReduced(*body);
  reduced.replaceAllUsesWith(
      body->insertArgument(0u, reduced.getType(), op.getLoc()));
  // Nothing reads the product any more.
  (void)runRegionDCE(rewriter, rest.getEpilogue());
  body->eraseArgument(1);
  if (moments) {
    auto norm = *body->getOps<BatchNormTrainingOp>().begin();
    norm.getMomentsMutable().assign(body->addArgument(
        EpilogueOp::getTensorType(moments.getType()), op.getLoc()));
    norm.setMomentRows(op.getSchedule().getMomentRows());
  }
  return rest;
}

SeparateReduction tenon::createSeparateReduction(OpBuilder &builder,
                                                 TiledLinearOp op, Value buffer,
                                                 Value moments) {
  IRRewriter rewriter(builder);
  TiledLinearOp product = createProduct(rewriter, op, buffer, moments);
  return {product, createRest(rewriter, op, buffer, moments)};
}
