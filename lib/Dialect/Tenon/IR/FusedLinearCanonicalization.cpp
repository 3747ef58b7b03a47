//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// fused_linear: operands and results that nothing uses go, an empty epilogue
// too.
//
//===----------------------------------------------------------------------===//

#include "tenon/Dialect/Tenon/IR/Tenon.h"

#include "llvm/ADT/BitVector.h"

using namespace mlir;
using namespace mlir::tenon;

/// Rebuilds `op` with other epilogue operands and results; its region moves,
/// and the caller has already made the region's arguments and yield fit.
static FusedLinearOp rebuild(FusedLinearOp op, ValueRange epilogueOperands,
                             PatternRewriter &rewriter) {
  auto fused = FusedLinearOp::create(
      rewriter, op.getLoc(), op.getYield().getOperandTypes(), op.getX(),
      op.getW(), epilogueOperands, op.getPrecisionAttr());
  fused.inherit(op);
  rewriter.inlineRegionBefore(op.getEpilogue(), fused.getEpilogue(),
                              fused.getEpilogue().end());
  return fused;
}

namespace {
/// Drops epilogue operands that the region does not use, and takes each operand
/// once.
struct PruneOperands : OpRewritePattern<FusedLinearOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(FusedLinearOp op,
                                PatternRewriter &rewriter) const override {
    auto arguments = op.getBody()->getArguments().drop_front();
    llvm::SmallDenseMap<Value, BlockArgument, 4> first;
    llvm::BitVector dropped(op.getBody()->getNumArguments());
    for (auto [operand, argument] :
         llvm::zip(op.getEpilogueOperands(), arguments)) {
      auto [kept, inserted] = first.try_emplace(operand, argument);
      if (inserted)
        continue;
      rewriter.replaceAllUsesWith(argument, kept->second);
      dropped.set(argument.getArgNumber());
    }
    // Which are not used is known when each operand is taken once.
    for (BlockArgument argument : arguments)
      if (argument.use_empty())
        dropped.set(argument.getArgNumber());
    if (dropped.none())
      return failure();
    SmallVector<Value> operands;
    for (auto [index, operand] : llvm::enumerate(op.getEpilogueOperands()))
      if (!dropped[index + 1])
        operands.push_back(operand);
    rewriter.modifyOpInPlace(op,
                             [&] { op.getBody()->eraseArguments(dropped); });
    auto fused = rebuild(op, operands, rewriter);
    rewriter.replaceOp(op, fused);
    return success();
  }
};

/// Drops results that nothing uses.
struct PruneResults : OpRewritePattern<FusedLinearOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(FusedLinearOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<Value> yielded, replaced;
    for (auto [result, value] :
         llvm::zip(op.getResults(), op.getYield().getValues()))
      if (!result.use_empty()) {
        yielded.push_back(value);
        replaced.push_back(result);
      }
    if (yielded.size() == op.getNumResults() || yielded.empty())
      return failure();
    rewriter.modifyOpInPlace(op.getYield(), [&] {
      op.getYield().getValuesMutable().assign(yielded);
    });
    auto fused = rebuild(op, op.getEpilogueOperands(), rewriter);
    for (auto [old, result] : llvm::zip(replaced, fused.getResults()))
      rewriter.replaceAllUsesWith(old, result);
    rewriter.eraseOp(op);
    return success();
  }
};

/// An op that yields its product alone is a `tenon.linear`.
struct DropEmptyEpilogue : OpRewritePattern<FusedLinearOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(FusedLinearOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getNumResults() != 1 ||
        op.getYield().getValues()[0] != op.getAccumulator())
      return failure();
    auto linear = LinearOp::create(rewriter, op.getLoc(),
                                   op.getResultTypes()[0], op.getX(), op.getW(),
                                   /*bias=*/Value(), op.getPrecisionAttr());
    linear.inherit(op);
    rewriter.replaceOp(op, linear);
    return success();
  }
};
} // namespace

void FusedLinearOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                                MLIRContext *context) {
  patterns.add<PruneOperands, PruneResults, DropEmptyEpilogue>(context);
}
