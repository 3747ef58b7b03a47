//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// --tenon-raise-linalg: takes ops in their order, and says which stay.
//
//===----------------------------------------------------------------------===//

#include "Functions.h"
#include "Raiser.h"

#include "tenon/Conversion/Passes.h"
#include "tenon/Dialect/Tenon/IR/Tenon.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Iterators.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::tenon {
#define GEN_PASS_DEF_TENONRAISELINALG
#include "tenon/Conversion/Passes.h.inc"
} // namespace mlir::tenon

using namespace mlir;
using namespace mlir::tenon;

using Obstacles = llvm::DenseMap<Operation *, Reason>;

/// A softmax of rows, in tenon ops; null if it is another one.
static Value raiseSoftmax(linalg::SoftmaxOp op) {
  Value x = op.getInput();
  if (!isTenonTensor(x.getType()) || op->getNumResults() != 1 ||
      cast<RankedTensorType>(x.getType()).getRank() != 2 ||
      op.getDimension() != 1)
    return {};
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Value largest = ReduceRowOp::create(builder, loc, RowReduction::Max, x);
  Value distances = SubOp::create(builder, loc, x, largest);
  Value powers = ExpOp::create(builder, loc, distances);
  Value sum = ReduceRowOp::create(builder, loc, RowReduction::Sum, powers);
  return DivOp::create(builder, loc, powers, sum);
}

/// Takes `op`, or says why not.
static std::optional<Reason> raise(Operation *op) {
  SmallVector<Value> values;
  std::optional<Reason> obstacle;
  if (auto softmax = dyn_cast<linalg::SoftmaxOp>(op)) {
    if (Value value = raiseSoftmax(softmax))
      values.push_back(value);
  } else if (auto structured = dyn_cast<linalg::LinalgOp>(op)) {
    Raiser raiser(structured);
    values = raiser.run();
    obstacle = raiser.getObstacle();
  }
  if (values.empty())
    return obstacle ? obstacle : Reason(ReasonCode::NoCounterpart);
  op->replaceAllUsesWith(values);
  op->erase();
  return std::nullopt;
}

/// Drops checks that no extent is negative, as torch-mlir writes them.
static void eraseIdleChecks(Operation *root) {
  root->walk([](cf::AssertOp op) {
    auto compare = op.getArg().getDefiningOp<arith::CmpIOp>();
    auto cast = compare ? compare.getLhs().getDefiningOp<arith::IndexCastOp>()
                        : arith::IndexCastOp();
    if (cast && compare.getPredicate() == arith::CmpIPredicate::sge &&
        cast.getIn().getDefiningOp<tensor::DimOp>() &&
        matchPattern(compare.getRhs(), m_Zero()))
      op->erase();
  });
}

static void eraseDead(Operation *root) {
  root->walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *op) {
    if (isOpTriviallyDead(op))
      op->erase();
  });
}

static void remarkMissed(Operation *op, const Reason &obstacle) {
  auto function = op->getParentOfType<FunctionOpInterface>();
  ValuedRemark(remark::missed(
      op->getLoc(),
      remark::RemarkOpts::name(stringifyReasonCode(obstacle.getCode()))
          .category("tenon-raise-linalg")
          .function(function ? function.getName() : "")))
      << remark::add("{0} not raised", op->getName().getStringRef().str())
      << obstacle;
}

namespace {
struct RaiseLinalgPass : tenon::impl::TenonRaiseLinalgBase<RaiseLinalgPass> {
  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet before(context), after(context);
    // Tenon has no tensors of booleans: what selects by one has to compute it.
    linalg::populateElementwiseOpsFusionPatterns(
        before, [](OpOperand *operand) {
          return getElementTypeOrSelf(operand->get().getType()).isInteger(1);
        });
    populateFunctionPatterns(after);
    mergeComparisons = FrozenRewritePatternSet(std::move(before));
    nameFunctions = FrozenRewritePatternSet(std::move(after));
    return success();
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    (void)applyPatternsGreedily(module, mergeComparisons);
    SmallVector<Operation *> ops;
    SmallVector<linalg::FillOp> fills;
    module.walk([&](Operation *op) {
      if (auto fill = dyn_cast<linalg::FillOp>(op))
        fills.push_back(fill);
      else if (isa_and_nonnull<linalg::LinalgDialect>(op->getDialect()) &&
               !op->getParentOfType<linalg::LinalgOp>())
        ops.push_back(op);
    });
    Obstacles obstacles;
    auto raiseOrNote = [&](Operation *op) {
      if (std::optional<Reason> obstacle = raise(op))
        obstacles.try_emplace(op, std::move(*obstacle));
    };
    llvm::for_each(ops, raiseOrNote);
    eraseIdleChecks(module);
    // What an op that is left begins with is left as well.
    for (linalg::FillOp fill : fills)
      if (llvm::none_of(fill->getUsers(), llvm::IsaPred<linalg::LinalgOp>))
        raiseOrNote(fill);
    eraseDead(module);
    if (module.getContext()->getRemarkEngine())
      module.walk([&](Operation *op) {
        if (auto found = obstacles.find(op); found != obstacles.end())
          remarkMissed(op, found->second);
      });
    (void)applyPatternsGreedily(module, nameFunctions);
  }

  FrozenRewritePatternSet mergeComparisons, nameFunctions;
};
} // namespace
