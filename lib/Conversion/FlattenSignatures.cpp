//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gives functions of other dialects arguments and results that models have.
//
//===----------------------------------------------------------------------===//

#include "tenon/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::tenon {
#define GEN_PASS_DEF_TENONFLATTENSIGNATURES
#include "tenon/Conversion/Passes.h.inc"
} // namespace mlir::tenon

using namespace mlir;

/// The groups of dimensions that are rows and columns; empty where a tensor is
/// a matrix or less, or its extents are not known.
static SmallVector<ReassociationIndices> getGroups(RankedTensorType type) {
  if (!type || type.getRank() <= 2 || !type.hasStaticShape() ||
      type.getNumElements() == 0)
    return {};
  SmallVector<ReassociationIndices> groups(2);
  for (int64_t dim = 0; dim + 1 != type.getRank(); ++dim)
    groups[0].push_back(dim);
  groups[1].push_back(type.getRank() - 1);
  return groups;
}

static RankedTensorType flatten(RankedTensorType type) {
  int64_t columns = type.getShape().back();
  return type.clone(
      ArrayRef<int64_t>{type.getNumElements() / columns, columns});
}

/// A tensor of whole numbers that are given as f64.
static Value toWhole(OpBuilder &builder, Location loc, Value x,
                     RankedTensorType type) {
  if (!type.getElementType().isInteger(1))
    return arith::FPToSIOp::create(builder, loc, type, x);
  auto given = cast<RankedTensorType>(x.getType());
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getZeroAttr(given));
  return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNE, x,
                               zero);
}

static void convertArgument(BlockArgument argument) {
  auto type = dyn_cast<RankedTensorType>(argument.getType());
  SmallVector<ReassociationIndices> groups = getGroups(type);
  bool isWhole = type && type.hasStaticShape() &&
                 type.getElementType().isSignlessInteger();
  if (groups.empty() && !isWhole)
    return;
  RankedTensorType matrix = groups.empty() ? type : flatten(type);
  OpBuilder builder = OpBuilder::atBlockBegin(argument.getOwner());
  Location loc = argument.getLoc();
  SmallVector<OpOperand *> uses = llvm::map_to_vector(
      argument.getUses(), [](OpOperand &use) { return &use; });
  argument.setType(isWhole ? matrix.clone(builder.getF64Type()) : matrix);
  Value value = argument;
  if (isWhole)
    value = toWhole(builder, loc, value, matrix);
  if (!groups.empty())
    value = tensor::ExpandShapeOp::create(builder, loc, type, value, groups);
  for (OpOperand *use : uses)
    use->set(value);
}

static void convertResult(OpOperand &result) {
  auto type = dyn_cast<RankedTensorType>(result.get().getType());
  SmallVector<ReassociationIndices> groups = getGroups(type);
  if (groups.empty())
    return;
  OpBuilder builder(result.getOwner());
  result.set(
      tensor::CollapseShapeOp::create(builder, result.getOwner()->getLoc(),
                                      flatten(type), result.get(), groups));
}

namespace {
struct FlattenSignaturesPass
    : tenon::impl::TenonFlattenSignaturesBase<FlattenSignaturesPass> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isDeclaration() || function.isPrivate() ||
        !function.getBody().hasOneBlock())
      return;
    Block &body = function.getBody().front();
    llvm::for_each(body.getArguments(), convertArgument);
    llvm::for_each(body.getTerminator()->getOpOperands(), convertResult);
    function.setType(
        FunctionType::get(&getContext(), body.getArgumentTypes(),
                          body.getTerminator()->getOperandTypes()));
  }
};
} // namespace
