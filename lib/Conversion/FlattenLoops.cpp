//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes one loop over rows of the leading loops of linalg ops.
//
//===----------------------------------------------------------------------===//

#include "tenon/Conversion/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <numeric>

namespace mlir::tenon {
#define GEN_PASS_DEF_TENONFLATTENLOOPS
#include "tenon/Conversion/Passes.h.inc"
} // namespace mlir::tenon

using namespace mlir;

/// The loops that are one loop over rows; empty where there are none, or where
/// a tensor has some of them only, in another order, or at a constant index.
static ReassociationIndices getRows(linalg::LinalgOp op) {
  unsigned rest = linalg::isaContractionOpInterface(op) ? 2 : 1;
  if (!op.hasPureTensorSemantics() || op.hasDynamicShape() ||
      op.hasIndexSemantics() || op.getNumLoops() < rest + 2)
    return {};
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  if (!llvm::all_of(maps,
                    [](AffineMap map) { return map.isProjectedPermutation(); }))
    return {};
  ReassociationIndices rows(op.getNumLoops() - rest);
  std::iota(rows.begin(), rows.end(), 0);
  SmallVector<utils::IteratorType> kinds = op.getIteratorTypesArray();
  bool areParallel = llvm::all_of(rows, [&](int64_t loop) {
    return linalg::isParallelIterator(kinds[loop]);
  });
  return areParallel && linalg::areDimSequencesPreserved(maps, {rows})
             ? rows
             : ReassociationIndices();
}

static void flatten(linalg::LinalgOp op, const ReassociationIndices &rows,
                    IRRewriter &rewriter) {
  rewriter.setInsertionPoint(op);
  if (!isa<linalg::GenericOp>(op)) {
    FailureOr<linalg::GenericOp> generic =
        linalg::generalizeNamedOp(rewriter, op);
    if (failed(generic))
      return;
    op = *generic;
  }
  FailureOr<linalg::CollapseResult> result =
      linalg::collapseOpIterationDims(op, {rows}, rewriter);
  if (succeeded(result))
    rewriter.replaceOp(op, result->results);
}

namespace {
struct FlattenLoopsPass : tenon::impl::TenonFlattenLoopsBase<FlattenLoopsPass> {
  void runOnOperation() override {
    SmallVector<std::pair<linalg::LinalgOp, ReassociationIndices>> ops;
    getOperation()->walk([&](linalg::LinalgOp op) {
      // A fill is known by its name.
      if (ReassociationIndices rows = getRows(op);
          !rows.empty() && !isa<linalg::FillOp>(op))
        ops.emplace_back(op, std::move(rows));
    });
    IRRewriter rewriter(&getContext());
    for (const auto &[op, rows] : ops)
      flatten(op, rows, rewriter);
  }
};
} // namespace
