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

#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace mlir::tenon;

static Value getReduced(Block &body) {
  return (*body.getOps<ReductionEpilogueOp>().begin()).getReducedInput();
}

MemRefType tenon::getReducedType(TiledLinearOp op) {
  auto type = cast<RankedTensorType>(getReduced(*op.getBody()).getType());
  return MemRefType::get(type.getShape(), type.getElementType());
}

Value tenon::findReducedBuffer(TiledLinearOp op) {
  MemRefType type = getReducedType(op);
  // An input [M, N] may be the buffer of an output.
  for (Value input : op.getInputs())
    if (cast<MemRefType>(input.getType()).getShape() == type.getShape())
      return Value();
  for (Value output : op.getOutputs())
    if (EpilogueOp::getTensorType(output.getType()) ==
        EpilogueOp::getTensorType(type))
      return output;
  return Value();
}

static TiledLinearOp createProduct(RewriterBase &rewriter, TiledLinearOp op,
                                   Value buffer) {
  auto product = TiledLinearOp::create(
      rewriter, op.getLoc(), op.getX(), op.getW(), op.getFactors(),
      op.getInputs(), buffer, /*workspace=*/Value(),
      op.getSchedule().withReduction(ReductionMethod::Separate));
  IRMapping mapping;
  op.getEpilogue().cloneInto(&product.getEpilogue(), mapping);
  product.getYield().getValuesMutable().assign(getReduced(*product.getBody()));
  (void)runRegionDCE(rewriter, product.getEpilogue());
  return product;
}

static EpilogueOp createRest(RewriterBase &rewriter, TiledLinearOp op,
                             Value buffer) {
  SmallVector<Value> inputs{buffer};
  llvm::append_range(inputs, op.getInputs());
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
  return rest;
}

SeparateReduction tenon::createSeparateReduction(OpBuilder &builder,
                                                 TiledLinearOp op,
                                                 Value buffer) {
  IRRewriter rewriter(builder);
  TiledLinearOp product = createProduct(rewriter, op, buffer);
  return {product, createRest(rewriter, op, buffer)};
}
