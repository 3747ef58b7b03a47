//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a product leaves of a fused layer becomes an epilogue by itself.
//
//===----------------------------------------------------------------------===//

#include "RestEpilogue.h"

#include "ElementwiseToEpilogue.h"

using namespace mlir;
using namespace mlir::tenon;

/// The operands that the region uses; it loses the arguments of the others.
static SmallVector<Value> takeUsedOperands(FusedLinearOp op) {
  Block *body = op.getBody();
  llvm::BitVector unused(body->getNumArguments());
  SmallVector<Value> operands;
  for (auto [operand, argument] :
       llvm::zip(op.getEpilogueOperands(), body->getArguments().drop_front()))
    if (argument.use_empty())
      unused.set(argument.getArgNumber());
    else
      operands.push_back(operand);
  body->eraseArguments(unused);
  return operands;
}

void tenon::replaceByEpilogue(FusedLinearOp op, Value product,
                              RewriterBase &rewriter) {
  // A result that is the product itself needs no work and keeps its buffer;
  // otherwise the first result of its type takes the buffer.
  YieldOp yield = op.getYield();
  bool taken = llvm::is_contained(yield.getValues(), op.getAccumulator());
  SmallVector<Value> outputs, yielded, results(op.getNumResults(), product);
  SmallVector<unsigned> positions;
  for (auto [index, value] : llvm::enumerate(yield.getValues())) {
    if (value == op.getAccumulator())
      continue;
    bool inPlace = !taken && value.getType() == product.getType();
    taken |= inPlace;
    outputs.push_back(inPlace
                          ? product
                          : createEmpty(rewriter, op.getLoc(),
                                        cast<RankedTensorType>(value.getType()),
                                        op.getX()));
    yielded.push_back(value);
    positions.push_back(index);
  }
  if (!outputs.empty()) {
    SmallVector<Value> inputs{product};
    llvm::append_range(inputs, takeUsedOperands(op));
    rewriter.modifyOpInPlace(yield,
                             [&] { yield.getValuesMutable().assign(yielded); });
    auto epilogue = EpilogueOp::create(rewriter, op.getLoc(), inputs, outputs);
    rewriter.inlineRegionBefore(op.getEpilogue(), epilogue.getEpilogue(),
                                epilogue.getEpilogue().end());
    for (auto [position, result] : llvm::zip(positions, epilogue.getResults()))
      results[position] = result;
  }
  rewriter.replaceOp(op, results);
}
