//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// --tenon-to-linalg: products here, what follows them in EpilogueToLinalg.cpp.
//
//===----------------------------------------------------------------------===//

#include "EpilogueToLinalg.h"
#include "LinalgMap.h"

#include "tenon/Dialect/Tenon/IR/EpilogueOps.h"

namespace mlir::tenon {
#define GEN_PASS_DEF_TENONTOLINALG
#include "tenon/Codegen/CPU/Passes.h.inc"
} // namespace mlir::tenon

using namespace mlir;
using namespace mlir::tenon;

static Value transpose(OpBuilder &builder, Location loc, Value matrix) {
  auto type = cast<RankedTensorType>(matrix.getType());
  Value empty = tensor::EmptyOp::create(
      builder, loc, {type.getDimSize(1), type.getDimSize(0)},
      type.getElementType());
  return linalg::TransposeOp::create(builder, loc, matrix, empty,
                                     ArrayRef<int64_t>{1, 0})
      ->getResult(0);
}

/// x w^T in the compute type. What is given transposed, and static therefore,
/// is turned before.
template <typename OpTy> static Value emitProduct(OpBuilder &builder, OpTy op) {
  Location loc = op.getLoc();
  Value x = op.getX(), w = op.getW();
  if (isXTransposed(op.getLayout()))
    x = transpose(builder, loc, x);
  if (isWTransposed(op.getLayout()))
    w = transpose(builder, loc, w);
  Type type =
      getComputeType(cast<RankedTensorType>(x.getType()).getElementType());
  SmallVector<OpFoldResult> extents{getExtent(builder, loc, x, 0),
                                    getExtent(builder, loc, w, 0)};
  Value empty = tensor::EmptyOp::create(builder, loc, extents, type);
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getFloatAttr(type, 0.0));
  Value fill = linalg::FillOp::create(builder, loc, zero, empty).getResult(0);
  return linalg::MatmulTransposeBOp::create(builder, loc, fill.getType(),
                                            ValueRange{x, w}, fill)
      .getResult(0);
}

static LogicalResult lowerLinear(LinearOp op, OpBuilder &builder) {
  Value product = emitProduct(builder, op);
  Type type = op.getType().getElementType();
  Type computeType = cast<RankedTensorType>(product.getType()).getElementType();
  if (op.getBias() || type != computeType) {
    SmallVector<Value> inputs{product};
    if (op.getBias())
      inputs.push_back(op.getBias());
    product = emitMap(
        builder, op.getLoc(), inputs, op.getType().getShape(), type,
        [&](OpBuilder &nested, Location loc, ValueRange elements) {
          Value sum = elements[0];
          if (op.getBias())
            sum = arith::AddFOp::create(
                nested, loc, sum,
                convertFloat(nested, loc, elements[1], computeType));
          return SmallVector<Value>{convertFloat(nested, loc, sum, type)};
        })[0];
  }
  op.replaceAllUsesWith(product);
  return success();
}

static void lowerFusedLinear(FusedLinearOp op, OpBuilder &builder) {
  IRMapping tensors;
  tensors.map(op.getAccumulator(), emitProduct(builder, op));
  tensors.map(op.getBody()->getArguments().drop_front(),
              op.getEpilogueOperands());
  SmallVector<Operation *> ops;
  for (Operation &inner : op.getBody()->without_terminator())
    ops.push_back(&inner);
  SmallVector<Value> results;
  lowerEpilogue(builder, ops, op.getYield().getValues(), tensors, results);
  op.replaceAllUsesWith(results);
}

/// Splits become loops, of buffers (Split.cpp), over rows that lie in memory.
static void turnSplit(SplitOp op) {
  OpBuilder builder(op);
  Value turned = transpose(builder, op.getLoc(), op.getX());
  auto split = SplitOp::create(builder, op.getLoc(), turned, op.getParts(),
                               /*transposed=*/false);
  op.replaceAllUsesWith(split.getResults());
}

/// What blocks have a scale of is computed where it lies.
static void lowerScaleBlocks(ScaleBlocksOp op, OpBuilder &builder) {
  Location loc = op.getLoc();
  auto type = cast<RankedTensorType>(op.getResult().getType());
  MLIRContext *context = builder.getContext();
  AffineExpr row = getAffineDimExpr(0, context);
  AffineExpr column = getAffineDimExpr(1, context);
  AffineMap own = AffineMap::get(2, 0, {row, column}, context);
  SmallVector<AffineExpr> block{row.floorDiv(op.getRows()),
                                column.floorDiv(op.getColumns())};
  auto scales = cast<RankedTensorType>(op.getScales().getType());
  if (scales.getRank() == 1) { // column by column
    int64_t ofK = llvm::divideCeil(type.getDimSize(1), op.getColumns());
    block = {block[1] * (scales.getDimSize(0) / ofK) + block[0]};
  }
  AffineMap ofBlock = AffineMap::get(2, 0, block, context);
  SmallVector<OpFoldResult> extents{getExtent(builder, loc, op.getX(), 0),
                                    getExtent(builder, loc, op.getX(), 1)};
  Value empty =
      tensor::EmptyOp::create(builder, loc, extents, type.getElementType());
  auto scaled = linalg::GenericOp::create(
      builder, loc, TypeRange(type), ValueRange{op.getX(), op.getScales()},
      empty, ArrayRef<AffineMap>{own, ofBlock, own},
      SmallVector<utils::IteratorType>(2, utils::IteratorType::parallel),
      [&](OpBuilder &nested, Location bodyLoc, ValueRange elements) {
        Value x =
            convertFloat(nested, bodyLoc, elements[0], type.getElementType());
        Value product = arith::MulFOp::create(nested, bodyLoc, x, elements[1]);
        linalg::YieldOp::create(nested, bodyLoc, product);
      });
  op->replaceAllUsesWith(scaled);
}

static LogicalResult lowerOp(Operation *op, OpBuilder &builder) {
  if (auto split = dyn_cast<WithSplitOp>(op)) {
    split.replaceAllUsesWith(split.getX());
    return success();
  }
  if (auto split = dyn_cast<SplitOp>(op)) {
    turnSplit(split);
    return success();
  }
  if (auto scale = dyn_cast<ScaleBlocksOp>(op))
    return lowerScaleBlocks(scale, builder), success();
  if (auto linear = dyn_cast<LinearOp>(op))
    return lowerLinear(linear, builder);
  if (auto fused = dyn_cast<FusedLinearOp>(op))
    return lowerFusedLinear(fused, builder), success();
  if (!isEpilogueOp(op))
    return op->emitOpError("has no lowering for the CPU target");
  IRMapping tensors;
  SmallVector<Value> results;
  lowerEpilogue(builder, op, op->getResults(), tensors, results);
  op->replaceAllUsesWith(results);
  return success();
}

namespace {
struct ToLinalgPass : tenon::impl::TenonToLinalgBase<ToLinalgPass> {
  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation()->walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (!isa_and_nonnull<TenonDialect>(op->getDialect()))
        return WalkResult::advance();
      if (auto split = dyn_cast<SplitOp>(op);
          split && !(split.getTransposed() && split.isOnTensors()))
        return WalkResult::advance();
      ops.push_back(op);
      return WalkResult::skip(); // a fused_linear's region goes with it
    });
    for (Operation *op : ops) {
      OpBuilder builder(op);
      if (failed(lowerOp(op, builder)))
        return signalPassFailure();
      op->erase();
    }
  }
};
} // namespace
