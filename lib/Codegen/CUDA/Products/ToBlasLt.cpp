//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// --tenon-to-blaslt: linear layers become cuBLASLt products, and what cuBLASLt
// cannot express becomes `tenon.epilogue`.
//
//===----------------------------------------------------------------------===//

#include "BlasLtMatch.h"
#include "ElementwiseToEpilogue.h"
#include "GpuOps.h"
#include "RestEpilogue.h"

#include "tenon/Codegen/CUDA/Passes.h"
#include "tenon/Schedule/Checks/LayerKernels.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"

namespace mlir::tenon {
#define GEN_PASS_DEF_TENONTOBLASLT
#include "tenon/Codegen/CUDA/Passes.h.inc"
} // namespace mlir::tenon

using namespace mlir;
using namespace mlir::tenon;

static constexpr llvm::StringLiteral kCategory = "tenon-to-blaslt";

namespace {
/// Converts the layers of one function; they share a workspace.
class BlasLtConverter {
public:
  BlasLtConverter(FunctionOpInterface function, RewriterBase &rewriter)
      : function(function), rewriter(rewriter) {}

  void convert(FusedLinearOp op);

private:
  Value getWorkspace();
  Value createProduct(FusedLinearOp op, RankedTensorType type,
                      const BlasLtMatch &match);
  void report(FusedLinearOp op, const BlasLtMatch &match);

  FunctionOpInterface function;
  RewriterBase &rewriter;
  Value workspace;
};
} // namespace

Value BlasLtConverter::getWorkspace() {
  if (!workspace)
    workspace = createWorkspace(rewriter, function, blaslt::kWorkspaceBytes);
  return workspace;
}

/// The product of x and w, with what `match` found, as a tensor of `type`.
Value BlasLtConverter::createProduct(FusedLinearOp op, RankedTensorType type,
                                     const BlasLtMatch &match) {
  Location loc = op.getLoc();
  ProductExtents extents = op.getExtents();
  Type input = op.getX().getType().getElementType();
  auto plan = blaslt::PlanOp::create(
      rewriter, loc, blaslt::PlanType::get(rewriter.getContext()), extents.n,
      extents.k, getCompute(input, op.getPrecision()), APFloat(match.alpha),
      match.residual != nullptr, match.bias != nullptr,
      isXTransposed(op.getLayout()), isWTransposed(op.getLayout()),
      match.scales, match.activation, input, type.getElementType());
  Value empty = createEmpty(rewriter, loc, type, op.getX());
  auto run = blaslt::RunOp::create(
      rewriter, loc, type, plan, op.getX(), op.getW(), match.xScale,
      match.wScale, match.bias, match.residual, getWorkspace(), empty);
  return run.getResult();
}

void BlasLtConverter::report(FusedLinearOp op, const BlasLtMatch &match) {
  ValuedRemark analysis(remark::analysis(
      op->getLoc(),
      remark::RemarkOpts::name("Product").category(kCategory).function(
          function.getName())));
  if (!match.obstacle) {
    analysis << remark::add("one cuBLASLt call does the whole layer")
             << ArrayRef(KernelKind::Call);
    return;
  }
  analysis << remark::add("a cuBLASLt product and one epilogue")
           << *match.obstacle
           << ArrayRef({KernelKind::Product, getEpilogueKernel(op)});
}

/// Drops the ops from the product to `end`, which the plan computes: the
/// region's first argument now stands for `end`.
static void dropPrefix(FusedLinearOp op, Value end, RewriterBase &rewriter) {
  op.getAccumulator().setType(end.getType());
  rewriter.replaceAllUsesWith(end, op.getAccumulator());
  while (Operation *last = end.getDefiningOp()) {
    // The chain has one tensor operand that is not an argument beside it.
    end = *llvm::find_if(last->getOperands(), [&](Value operand) {
      return operand.getDefiningOp() || operand == op.getAccumulator();
    });
    rewriter.eraseOp(last);
  }
}

void BlasLtConverter::convert(FusedLinearOp op) {
  BlasLtMatch match = matchBlasLt(op);
  report(op, match);
  rewriter.setInsertionPoint(op);
  auto type = cast<RankedTensorType>(match.end.getType());
  Value product = createProduct(op, type, match);
  if (!match.obstacle) {
    rewriter.replaceOp(op, product);
    return;
  }
  dropPrefix(op, match.end, rewriter);
  replaceByEpilogue(op, product, rewriter);
}

namespace {
struct ToBlasLt : tenon::impl::TenonToBlasLtBase<ToBlasLt> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    for (auto function : getOperation().getOps<FunctionOpInterface>()) {
      if (function.isExternal())
        continue;
      BlasLtConverter converter(function, rewriter);
      function.walk(
          [&](LinearLikeOp op) { converter.convert(toFused(op, rewriter)); });
      WalkResult result = function.walk<WalkOrder::PreOrder>([&](Block *block) {
        if (isa<EpilogueOp, TiledLinearOp>(block->getParentOp()))
          return WalkResult::skip();
        return WalkResult(wrapElementwise(*block, rewriter));
      });
      if (result.wasInterrupted() || failed(checkGpuOps(function)))
        return signalPassFailure();
    }
  }
};
} // namespace
