//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// --tenon-fuse-elementwise: upstream's fusion where it repeats no work, then
// outputs in place of dead inputs.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/CPU/Passes.h"

#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::tenon {
#define GEN_PASS_DEF_TENONFUSEELEMENTWISE
#include "tenon/Codegen/CPU/Passes.h.inc"
} // namespace mlir::tenon

using namespace mlir;

/// Fusing repeats no work: the producer has no other use, and each of its
/// elements is used once.
static bool repeatsNothing(OpOperand *operand) {
  auto consumer = cast<linalg::LinalgOp>(operand->getOwner());
  auto producer = operand->get().getDefiningOp<linalg::LinalgOp>();
  // Compilers take a time that grows with the square of a loop's length.
  constexpr size_t mostOps = 2000;
  auto getLength = [](linalg::LinalgOp op) {
    return op.getBlock()->getOperations().size();
  };
  return producer && producer->hasOneUse() &&
         getLength(producer) + getLength(consumer) <= mostOps &&
         producer.getNumLoops() == consumer.getNumLoops() &&
         consumer.getMatchingIndexingMap(operand).isPermutation();
}

namespace {
/// Writes to an input that dies here, instead of to new memory.
struct WorkInPlace : OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(linalg::GenericOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getNumParallelLoops() != op.getNumLoops())
      return failure();
    for (OpOperand &init : op.getDpsInitsMutable()) {
      if (!init.get().getDefiningOp<tensor::EmptyOp>())
        continue;
      for (OpOperand *input : op.getDpsInputOperands())
        if (canHold(op, *input, init)) {
          moveToInit(op, *input, init, rewriter);
          return success();
        }
    }
    return failure();
  }

private:
  /// An intermediate of the output's type, read element by element, of which
  /// this op is the only reader.
  static bool canHold(linalg::GenericOp op, OpOperand &input, OpOperand &init) {
    return input.get().getType() == init.get().getType() &&
           input.get().getDefiningOp<linalg::LinalgOp>() &&
           input.get().hasOneUse() &&
           op.getMatchingIndexingMap(&input).isIdentity() &&
           op.getMatchingIndexingMap(&init).isIdentity() &&
           !op.payloadUsesValueFromOperand(&init);
  }

  static void moveToInit(linalg::GenericOp op, OpOperand &input,
                         OpOperand &init, PatternRewriter &rewriter) {
    unsigned index = input.getOperandNumber();
    SmallVector<Value> inputs = op.getDpsInputs();
    SmallVector<Value> outputs = llvm::to_vector_of<Value>(op.getDpsInits());
    SmallVector<AffineMap> maps = op.getIndexingMapsArray();
    outputs[init.getOperandNumber() - inputs.size()] = input.get();
    inputs.erase(inputs.begin() + index);
    maps.erase(maps.begin() + index);
    BlockArgument element = op.getMatchingBlockArgument(&input);
    rewriter.replaceAllUsesWith(element, op.getMatchingBlockArgument(&init));
    auto inPlace = linalg::GenericOp::create(
        rewriter, op.getLoc(), op.getResultTypes(), inputs, outputs, maps,
        op.getIteratorTypesArray());
    rewriter.inlineRegionBefore(op.getRegion(), inPlace.getRegion(),
                                inPlace.getRegion().end());
    inPlace.getBody()->eraseArgument(index);
    rewriter.replaceOp(op, inPlace);
  }
};

struct FuseElementwisePass
    : tenon::impl::TenonFuseElementwiseBase<FuseElementwisePass> {
  void runOnOperation() override {
    MLIRContext *context = &getContext();
    RewritePatternSet fusion(context);
    linalg::populateElementwiseOpsFusionPatterns(fusion, repeatsNothing);
    linalg::populateEraseUnusedOperandsAndResultsPatterns(fusion);
    // In place comes last: fusion looks through inputs alone.
    RewritePatternSet inPlace(context);
    inPlace.add<WorkInPlace>(context);
    if (failed(applyPatternsGreedily(getOperation(), std::move(fusion))) ||
        failed(applyPatternsGreedily(getOperation(), std::move(inPlace))))
      signalPassFailure();
  }
};
} // namespace
