//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// --tenon-to-tiled: linear layers of strategy tiled become destination-style
// ops, one kernel each.
//
//===----------------------------------------------------------------------===//

#include "ElementwiseToEpilogue.h"

#include "tenon/Codegen/CUDA/Passes.h"
#include "tenon/Dialect/Tenon/IR/Tenon.h"
#include "tenon/Target/Schedule.h"

#include "llvm/ADT/TypeSwitch.h"

namespace mlir::tenon {
#define GEN_PASS_DEF_TENONTOTILED
#include "tenon/Codegen/CUDA/Passes.h.inc"
} // namespace mlir::tenon

using namespace mlir;
using namespace mlir::tenon;

namespace {
/// Converts the layers of one function; those that need workspaces of one size
/// share one.
class FunctionConverter {
public:
  FunctionConverter(FunctionOpInterface function, RewriterBase &rewriter)
      : function(function), rewriter(rewriter) {}

  /// Converts `op`, a `tenon.linear` or `tenon.fused_linear`, if its strategy
  /// is tiled. Fails, with a message, if it lacks a schedule or has a precision
  /// that no tiled kernel gives.
  template <typename OpTy> LogicalResult convert(OpTy op);

private:
  Value getWorkspace(ScheduleAttr schedule);
  template <typename OpTy>
  TiledLinearOp createTiled(OpTy op, ValueRange inputs, ScheduleAttr schedule);
  void moveEpilogue(LinearOp op, TiledLinearOp tiled);
  void moveEpilogue(FusedLinearOp op, TiledLinearOp tiled);

  FunctionOpInterface function;
  RewriterBase &rewriter;
  llvm::DenseMap<int64_t, Value> workspaces; ///< by bytes
};
} // namespace

Value FunctionConverter::getWorkspace(ScheduleAttr schedule) {
  int64_t bytes = getWorkspaceBytes(schedule);
  if (bytes == 0)
    return Value();
  Value &workspace = workspaces[bytes];
  if (!workspace)
    workspace = createWorkspace(rewriter, function, bytes);
  return workspace;
}

/// The tiled op that gives the results of `op`, without its region.
template <typename OpTy>
TiledLinearOp FunctionConverter::createTiled(OpTy op, ValueRange inputs,
                                             ScheduleAttr schedule) {
  SmallVector<Value> outputs;
  for (Type type : op->getResultTypes())
    outputs.push_back(createEmpty(rewriter, op.getLoc(),
                                  cast<RankedTensorType>(type), op.getX()));
  return TiledLinearOp::create(rewriter, op.getLoc(), op.getX(), op.getW(),
                               /*factors=*/ValueRange(), inputs, outputs,
                               getWorkspace(schedule), schedule);
}

/// A bias becomes an addition to the product.
void FunctionConverter::moveEpilogue(LinearOp op, TiledLinearOp tiled) {
  Location loc = op.getLoc();
  OpBuilder::InsertionGuard guard(rewriter);
  Type type = op.getType();
  Block *body = rewriter.createBlock(&tiled.getEpilogue(), {}, type, loc);
  Value result = tiled.getAccumulator();
  if (Value bias = op.getBias())
    result = AddOp::create(rewriter, loc, result,
                           body->addArgument(bias.getType(), loc));
  YieldOp::create(rewriter, loc, result);
}

void FunctionConverter::moveEpilogue(FusedLinearOp op, TiledLinearOp tiled) {
  rewriter.inlineRegionBefore(op.getEpilogue(), tiled.getEpilogue(),
                              tiled.getEpilogue().end());
}

static ValueRange getEpilogueInputs(FusedLinearOp op) {
  return op.getEpilogueOperands();
}

static ValueRange getEpilogueInputs(LinearOp op) {
  return op->getOperands().drop_front(2);
}

template <typename OpTy> LogicalResult FunctionConverter::convert(OpTy op) {
  auto strategy =
      op->template getAttrOfType<StrategyAttr>(TenonDialect::kStrategyAttr);
  if (!strategy || strategy.getValue() != Strategy::Tiled)
    return success();
  auto schedule =
      op->template getAttrOfType<ScheduleAttr>(TenonDialect::kScheduleAttr);
  if (!schedule)
    return op.emitOpError("has strategy tiled, but no schedule; run "
                          "--tenon-select-strategy before, or write a "
                          "'tenon.schedule'");
  if (op.getX().getType().getElementType().isF32() &&
      op.getPrecision() != Precision::TF32)
    return op.emitOpError("has strategy tiled and precision ")
           << stringifyPrecision(op.getPrecision().value_or(Precision::FP32))
           << ", but a tiled kernel multiplies f32 as tf32; run "
              "--tenon-select-strategy before, or give it precision<tf32> or "
              "the strategy library";
  rewriter.setInsertionPoint(op);
  TiledLinearOp tiled = createTiled(op, getEpilogueInputs(op), schedule);
  moveEpilogue(op, tiled);
  rewriter.replaceOp(op, tiled.getResults());
  return success();
}

namespace {
struct ToTiled : tenon::impl::TenonToTiledBase<ToTiled> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    for (auto function : getOperation().getOps<FunctionOpInterface>()) {
      if (function.isExternal())
        continue;
      FunctionConverter converter(function, rewriter);
      WalkResult result = function.walk([&](Operation *op) {
        return llvm::TypeSwitch<Operation *, WalkResult>(op)
            .Case<LinearOp, FusedLinearOp>(
                [&](auto layer) { return converter.convert(layer); })
            .Default(WalkResult::advance());
      });
      if (result.wasInterrupted())
        return signalPassFailure();
    }
  }
};
} // namespace
