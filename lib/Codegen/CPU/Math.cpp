//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// --tenon-cpu-math: polynomials for f32, most of them upstream's; libm for the
// rest.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/CPU/Passes.h"
#include "tenon/Dialect/Tenon/IR/NarrowFloats.h"

#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Transforms/DialectConversion.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#include <cmath>

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

Value constant(ImplicitLocOpBuilder &b, Type type, TypedAttr value) {
  if (auto vector = dyn_cast<VectorType>(type))
    value = DenseElementsAttr::get(vector, value);
  return arith::ConstantOp::create(b, value);
}

/// 2^x = 2^n 2^f with n the integer nearest to x. Upstream has exp2 only by way
/// of exp, which is slower and less accurate.
struct InlineExp2 : OpRewritePattern<math::Exp2Op> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::Exp2Op op,
                                PatternRewriter &rewriter) const override {
    Type type = op.getType();
    if (!getElementTypeOrSelf(type).isF32())
      return failure();
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto number = [&](double value) {
      return constant(b, type, b.getF32FloatAttr(value));
    };
    // From n = -127 an exponent of 0 results, and from 128 that of infinity.
    Value x = arith::MaximumFOp::create(b, op.getOperand(), number(-127.0));
    x = arith::MinimumFOp::create(b, x, number(128.0));
    // This sum has no place for a fraction. Its last bits are n + 127.
    Value shift = number(0x1.8p23 + 127.0);
    Value sum = arith::AddFOp::create(b, x, shift);
    Value f = arith::SubFOp::create(b, x, arith::SubFOp::create(b, sum, shift));
    rewriter.replaceOpWithNewOp<arith::MulFOp>(op, fraction(b, f, number),
                                               powerOfTwo(b, sum));
    return success();
  }

private:
  /// 2^f by Taylor's series, which is right to 1e-8 for |f| <= 1/2.
  static Value fraction(ImplicitLocOpBuilder &b, Value f,
                        function_ref<Value(double)> number) {
    constexpr int kTerms = 8;
    double coefficients[kTerms] = {1.0};
    for (int i = 1; i != kTerms; ++i)
      coefficients[i] = coefficients[i - 1] * M_LN2 / i;
    auto contract = arith::FastMathFlags::contract;
    Value result = number(coefficients[kTerms - 1]);
    for (double coefficient : llvm::drop_begin(llvm::reverse(coefficients))) {
      result = arith::MulFOp::create(b, result, f, contract);
      result = arith::AddFOp::create(b, result, number(coefficient), contract);
    }
    return result;
  }

  /// The float whose exponent's bits are the last bits of `sum`.
  static Value powerOfTwo(ImplicitLocOpBuilder &b, Value sum) {
    Type type = sum.getType();
    Type integer = b.getI32Type();
    if (auto vector = dyn_cast<VectorType>(type))
      integer = vector.clone(integer);
    Value bits = arith::BitcastOp::create(b, integer, sum);
    Value places = constant(b, integer, b.getI32IntegerAttr(23));
    Value exponent = arith::ShLIOp::create(b, bits, places);
    return arith::BitcastOp::create(b, type, exponent);
  }
};

struct CPUMathPass : tenon::impl::TenonCPUMathBase<CPUMathPass> {
  void runOnOperation() override {
    tenon::expandNarrowFloats(getOperation());
    RewritePatternSet inlined(&getContext());
    populateMathPolynomialApproximationPatterns(inlined, [](StringRef name) {
      return llvm::is_contained({"math.exp", "math.tanh", "math.erf"}, name);
    });
    inlined.add<InlineExp2, SplitFma>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(inlined))))
      return signalPassFailure();
    // Of what is left, LLVM has intrinsics for all but these; that MLIR has
    // log1p and expm1 of x as log and exp leaves no digit of a small x.
    RewritePatternSet called(&getContext());
    populateMathToLibmConversionPatterns(called);
    ConversionTarget target(getContext());
    target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
    target.addIllegalOp<math::AcoshOp, math::AsinhOp, math::AtanhOp,
                        math::CbrtOp, math::ErfOp, math::ErfcOp, math::ExpM1Op,
                        math::Log1pOp, math::TanhOp>();
    if (failed(
            applyPartialConversion(getOperation(), target, std::move(called))))
      signalPassFailure();
  }
};
} // namespace
