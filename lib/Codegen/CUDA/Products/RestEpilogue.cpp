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

void tenon::eraseUnusedOperands(FusedLinearOp op) {
  Block *body = op.getBody();
  for (unsigned index = body->getNumArguments() - 1; index != 0; --index)
    if (body->getArgument(index).use_empty()) {
      body->eraseArgument(index);
      op.getEpilogueOperandsMutable().erase(index - 1);
    }
}

void tenon::replaceByEpilogue(FusedLinearOp op, Value product,
                              RewriterBase &rewriter) {
  // A result that is the product itself needs no work and keeps its buffer;
  // otherwise the first result of its type takes the buffer.
  YieldOp yield = op.getYield();
  bool taken = llvm::is_contained(yield.getValues(), op.getAccumulator());
  SmallVector<Value> outputs, yielded, results(op.getNumResults(), product);
  SmallVector<unsigned> positions;
  // A result need not have the product's rows.
  SmallVector<Value> sources{op.getX()};
  llvm::append_range(sources, op.getEpilogueOperands());
  for (auto [index, value] : llvm::enumerate(yield.getValues())) {
    if (value == op.getAccumulator())
      continue;
    bool inPlace = !taken && value.getType() == product.getType();
    taken |= inPlace;
    outputs.push_back(inPlace
                          ? product
                          : createEmpty(rewriter, op.getLoc(),
                                        cast<RankedTensorType>(value.getType()),
                                        sources));
    yielded.push_back(value);
    positions.push_back(index);
  }
  if (!outputs.empty()) {
    SmallVector<Value> inputs{product};
    eraseUnusedOperands(op);
    llvm::append_range(inputs, op.getEpilogueOperands());
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
