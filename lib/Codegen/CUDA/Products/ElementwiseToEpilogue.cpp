//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Groups ops that no product takes (those of prepare functions, for example)
// into `tenon.epilogue` ops.
//
//===----------------------------------------------------------------------===//

#include "ElementwiseToEpilogue.h"

#include "tenon/Dialect/Tenon/IR/EpilogueLimits.h"
#include "tenon/Dialect/Tenon/IR/NarrowFloats.h"
#include "tenon/Dialect/Tenon/IR/Tenon.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::tenon;

Value tenon::createEmpty(OpBuilder &builder, Location loc,
                         RankedTensorType type, ValueRange sources) {
  SmallVector<Value> extents;
  if (!type.hasStaticShape()) {
    Value source = *llvm::find_if(sources, [](Value value) {
      auto type = dyn_cast<RankedTensorType>(value.getType());
      return type && type.getRank() == 2 && type.isDynamicDim(0);
    });
    extents.push_back(tensor::DimOp::create(builder, loc, source, 0));
  }
  return tensor::EmptyOp::create(builder, loc, type, extents);
}

Value tenon::createWorkspace(OpBuilder &builder, FunctionOpInterface function,
                             int64_t bytes) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&function.getFunctionBody().front());
  return bufferization::AllocTensorOp::create(
      builder, function.getLoc(),
      RankedTensorType::get(bytes, builder.getI8Type()), ValueRange());
}

static bool isFloatTensor(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getRank() <= 2 &&
         isa<FloatType>(tensor.getElementType());
}

static bool isConstant(Operation *op) {
  return isa<arith::ConstantOp>(op) && isFloatTensor(op->getResultTypes()[0]);
}

/// Ops that may join another's epilogue: their value at an element depends on
/// their operands there.
static bool isElementwise(Operation *op) {
  if (isConstant(op) || isa<ElementwiseEpilogueOp>(op))
    return true;
  return OpTrait::hasElementwiseMappableTraits(op) &&
         op->getNumResults() == 1 && op->getNumOperands() != 0 &&
         llvm::all_of(op->getOperandTypes(), llvm::IsaPred<RankedTensorType>);
}

/// Ops that get an epilogue of their own.
static bool isRoot(Operation *op) {
  return (isElementwise(op) ||
          isa<ReductionEpilogueOp, ReduceRowOp, RepeatColumnsOp>(op)) &&
         !op->use_empty() && llvm::all_of(op->getResultTypes(), isFloatTensor);
}

/// `root` and the elementwise ops that nothing else reads, in block order.
static SmallVector<Operation *> collectGroup(Operation *root) {
  llvm::SmallSetVector<Operation *, 8> group;
  llvm::SmallPtrSet<Value, 8> inputs(root->operand_begin(),
                                     root->operand_end());
  group.insert(root);
  for (Operation *op = root->getPrevNode();
       op && group.size() < kMaxEpilogueOps; op = op->getPrevNode())
    if (isElementwise(op) && !op->use_empty() &&
        inputs.size() + op->getNumOperands() <= kMaxEpilogueOperands &&
        llvm::all_of(op->getUsers(),
                     [&](Operation *user) { return group.contains(user); })) {
      group.insert(op);
      inputs.erase(op->getResult(0));
      inputs.insert(op->operand_begin(), op->operand_end());
    }
  SmallVector<Operation *> ops(group.takeVector());
  std::reverse(ops.begin(), ops.end());
  return ops;
}

/// `root`, which casts a matrix to 8 bits, and what finds scales of its rows,
/// or of groups of their columns, ahead of it: one kernel reads the matrix, and
/// gives scales that are read elsewhere too. Empty if `root` is no such op.
static SmallVector<Operation *> collectQuantiser(Operation *root) {
  auto cast = dyn_cast<CastOp>(root);
  if (!cast || !isNarrowFloat(cast.getType().getElementType()))
    return {};
  RankedTensorType matrix = cast.getType();
  if (matrix.getRank() != 2 || matrix.getDimSize(0) == 1 ||
      matrix.getDimSize(1) == 1)
    return {};
  auto ofRows = [&](Type type) {
    auto tensor = mlir::cast<RankedTensorType>(type);
    return tensor.getRank() == 2 &&
           tensor.getDimSize(0) == matrix.getDimSize(0) &&
           tensor.getDimSize(1) < matrix.getDimSize(1);
  };
  llvm::SmallSetVector<Operation *, 8> group;
  llvm::SmallPtrSet<Value, 8> inputs(root->operand_begin(),
                                     root->operand_end());
  group.insert(root);
  auto mayJoin = [&](Operation *op) {
    if (op->use_empty() ||
        !(isElementwise(op) || isa<ReduceRowOp, RepeatColumnsOp>(op)))
      return false;
    bool isRead = false, isKept = true;
    for (Operation *user : op->getUsers()) {
      bool isInside = group.contains(user);
      isRead |= isInside;
      isKept &= isInside || (ofRows(op->getResultTypes()[0]) &&
                             user->getBlock() == root->getBlock() &&
                             root->isBeforeInBlock(user));
    }
    return isRead && isKept;
  };
  for (Operation *op = root->getPrevNode();
       op && group.size() < kMaxEpilogueOps; op = op->getPrevNode())
    if (mayJoin(op) &&
        inputs.size() + op->getNumOperands() <= kMaxEpilogueOperands) {
      group.insert(op);
      inputs.erase(op->getResult(0));
      inputs.insert(op->operand_begin(), op->operand_end());
    }
  SmallVector<Operation *> ops(group.takeVector());
  std::reverse(ops.begin(), ops.end());
  // A scale of values that have been found elsewhere is an operand like others.
  bool findsScale = llvm::any_of(ops, llvm::IsaPred<ReduceRowOp>);
  return findsScale ? ops : SmallVector<Operation *>();
}

/// Moves a group into a new epilogue op in the place of its last op. It gives
/// that one's results, and others that are read outside.
static void wrap(ArrayRef<Operation *> group, RewriterBase &rewriter) {
  Operation *root = group.back();
  Location loc = root->getLoc();
  llvm::SmallSetVector<Value, 4> inputs;
  for (Operation *op : group)
    for (Value operand : op->getOperands())
      if (!llvm::is_contained(group, operand.getDefiningOp()))
        inputs.insert(operand);
  SmallVector<Value> results(root->getResults());
  auto isOutside = [&](OpOperand &use) {
    return !llvm::is_contained(group, use.getOwner());
  };
  for (Operation *op : group.drop_back())
    if (llvm::any_of(op->getUses(), isOutside))
      results.push_back(op->getResult(0));
  rewriter.setInsertionPoint(root);
  SmallVector<Value> outputs;
  for (Value result : results)
    outputs.push_back(createEmpty(rewriter, loc,
                                  cast<RankedTensorType>(result.getType()),
                                  inputs.getArrayRef()));
  auto epilogue =
      EpilogueOp::create(rewriter, loc, inputs.getArrayRef(), outputs);
  TypeRange types(inputs.getArrayRef());
  Block *body = rewriter.createBlock(&epilogue.getEpilogue(), {}, types,
                                     SmallVector<Location>(types.size(), loc));
  IRMapping mapping;
  mapping.map(inputs.getArrayRef(), body->getArguments());
  for (Operation *op : group)
    rewriter.clone(*op, mapping);
  SmallVector<Value> yielded =
      llvm::map_to_vector(results, [&](Value v) { return mapping.lookup(v); });
  YieldOp::create(rewriter, loc, yielded);
  for (auto [result, given] : llvm::zip(results, epilogue.getResults()))
    rewriter.replaceUsesWithIf(result, given, isOutside);
  rewriter.eraseOp(root);
  for (Operation *op : llvm::reverse(group.drop_back()))
    rewriter.eraseOp(op);
}

/// Gives each user of a constant its own copy, so that it can join the user.
static LogicalResult splitConstants(Block &block, RewriterBase &rewriter) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (!isConstant(&op) || op.use_empty())
      continue;
    if (!isa<SplatElementsAttr>(cast<arith::ConstantOp>(op).getValue()))
      return op.emitOpError("has elements that differ, which the CUDA target "
                            "cannot hold; pass the tensor as an argument "
                            "marked 'tenon.param'");
    rewriter.setInsertionPoint(&op);
    while (!op.getResult(0).hasOneUse()) {
      OpOperand &use = *op.getResult(0).use_begin();
      Operation *copy = rewriter.clone(op);
      rewriter.modifyOpInPlace(use.getOwner(),
                               [&] { use.set(copy->getResult(0)); });
    }
  }
  return success();
}

LogicalResult tenon::wrapElementwise(Block &block, RewriterBase &rewriter) {
  if (failed(splitConstants(block, rewriter)))
    return failure();
  Operation *op = block.empty() ? nullptr : &block.back();
  while (op) {
    Operation *previous = op->getPrevNode();
    if (isRoot(op)) {
      SmallVector<Operation *> group = collectQuantiser(op);
      wrap(group.empty() ? collectGroup(op) : group, rewriter);
      // Start anew from the end: what came before may have been in the group.
      op = &block.back();
      continue;
    }
    op = previous;
  }
  return success();
}
