//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// --tenon-cpu-math: upstream's polynomials for f32, libm for the rest.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/CPU/Passes.h"

#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Transforms/DialectConversion.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::tenon {
#define GEN_PASS_DEF_TENONCPUMATH
#include "tenon/Codegen/CPU/Passes.h.inc"
} // namespace mlir::tenon

using namespace mlir;

namespace {
/// LLVM makes one instruction of the two where the CPU has it; a math.fma would
/// become a call of a function where it has not.
struct SplitFma : OpRewritePattern<math::FmaOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::FmaOp op,
                                PatternRewriter &rewriter) const override {
    auto contract = arith::FastMathFlags::contract;
    Value product = arith::MulFOp::create(rewriter, op.getLoc(), op.getA(),
                                          op.getB(), contract);
    rewriter.replaceOpWithNewOp<arith::AddFOp>(op, product, op.getC(),
                                               contract);
    return success();
  }
};

struct CPUMathPass : tenon::impl::TenonCPUMathBase<CPUMathPass> {
  void runOnOperation() override {
    RewritePatternSet inlined(&getContext());
    populateMathPolynomialApproximationPatterns(inlined, [](StringRef name) {
      return llvm::is_contained({"math.exp", "math.tanh", "math.erf"}, name);
    });
    inlined.add<SplitFma>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(inlined))))
      return signalPassFailure();
    // Of what is left, LLVM has intrinsics for all but these.
    RewritePatternSet called(&getContext());
    populateMathToLibmConversionPatterns(called);
    ConversionTarget target(getContext());
    target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
    target.addIllegalOp<math::ErfOp, math::TanhOp>();
    if (failed(
            applyPartialConversion(getOperation(), target, std::move(called))))
      signalPassFailure();
  }
};
} // namespace
