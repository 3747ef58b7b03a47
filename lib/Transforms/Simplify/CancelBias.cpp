//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A bias ahead of training batch norm cancels: it moves the batch's mean, and
// the running mean by momentum times itself.
//
//===----------------------------------------------------------------------===//

#include "tenon/Transforms/Simplify.h"

using namespace mlir;
using namespace mlir::tenon;

namespace {
/// A value and the bias [N] that was added to it.
struct Biased {
  Value value, bias;
};

struct CancelBias : OpRewritePattern<BatchNormTrainingOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(BatchNormTrainingOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getInput().hasOneUse() || isInEpilogue(op))
      return failure();
    std::optional<Biased> biased = match(op.getInput(), rewriter);
    if (!biased)
      return failure();
    remarkSimplified(op, "CancelBias", "batch norm cancels the bias before it",
                     /*exact=*/false);
    rewriter.modifyOpInPlace(
        op, [&] { op.getInputMutable().assign(biased->value); });
    moveMeans(op, biased->bias, rewriter);
    return success();
  }

private:
  /// Takes the bias out of a linear or an addition.
  static std::optional<Biased> match(Value input, PatternRewriter &rewriter) {
    // f16 may hold the sum and not the product alone.
    if (auto linear = input.getDefiningOp<LinearOp>();
        linear && linear.getBias() &&
        hasWideRange(linear.getType().getElementType())) {
      Value bias = linear.getBias();
      rewriter.modifyOpInPlace(linear,
                               [&] { linear.getBiasMutable().clear(); });
      return Biased{linear, bias};
    }
    auto add = input.getDefiningOp<AddOp>();
    if (!add || !add.getOther())
      return std::nullopt;
    for (auto [value, bias] : {std::pair(add.getInput(), add.getOther()),
                               std::pair(add.getOther(), add.getInput())})
      if (value.getType() == add.getType() &&
          cast<RankedTensorType>(bias.getType()).getShape() ==
              add.getType().getShape().drop_front())
        return Biased{value, bias};
    return std::nullopt;
  }

  /// The batch's mean without the bias is less by it, the new running mean by
  /// momentum times that.
  static void moveMeans(BatchNormTrainingOp op, Value bias,
                        PatternRewriter &rewriter) {
    rewriter.setInsertionPointAfter(op);
    auto move = [&](Value mean, Value shift) {
      auto moved = AddOp::create(rewriter, op.getLoc(), mean, shift);
      rewriter.replaceAllUsesExcept(mean, moved, moved);
    };
    if (op.getRunningMean())
      move(op.getNewStatistics()[0],
           MulOp::create(rewriter, op.getLoc(), bias,
                         op.getMomentum().convertToDouble()));
    if (op.getSaveStatistics())
      move(op.getSavedStatistics()[0], bias);
  }
};
} // namespace

void tenon::populateCancelBiasPatterns(RewritePatternSet &patterns) {
  patterns.add<CancelBias>(patterns.getContext());
}
