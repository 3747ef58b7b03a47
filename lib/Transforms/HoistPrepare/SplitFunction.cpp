//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Splits a function into prepare and run, given the ops that move.
//
//===----------------------------------------------------------------------===//

#include "tenon/Transforms/HoistPrepare.h"

#include "tenon/Dialect/Tenon/IR/Tenon.h"
#include "tenon/Transforms/Parameters.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::tenon;

/// Whether `user` is a layer whose kernel takes what `tenon.scale_blocks` has
/// in the place of what that gives.
static bool readsBytes(Operation *user) {
  auto layer = dyn_cast<LinearLikeOp>(user);
  return layer && layer.getScheduleAttr() &&
         layer.getScheduleAttr().getMethod() == ProductMethod::FP8 &&
         findScaledOperands(layer);
}

bool tenon::isFreeToRepeat(Operation *op) {
  return op->hasTrait<OpTrait::ConstantLike>() ||
         isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::CastOp,
             WithSplitOp>(op) ||
         (isa<ScaleBlocksOp>(op) && llvm::any_of(op->getUsers(), readsBytes));
}

namespace {
/// Splits one function.
struct Splitter {
  func::FuncOp function;
  const llvm::SetVector<Operation *> &hoisted; // the last first
  IRMapping mapping = {};
  SmallVector<Value> prepared = {}; // of the old body

  Block &body() { return function.getBody().front(); }
  void split(StringRef prepareName, StringRef runName);

private:
  func::FuncOp createPrepare(StringRef name);
  void cloneWithSources(Operation *op, OpBuilder &builder);
  llvm::SetVector<Operation *> findErased();
  void rebuildArguments();
};
} // namespace

/// Clones `op` and, before it, the constants and reshapes that it reads.
void Splitter::cloneWithSources(Operation *op, OpBuilder &builder) {
  for (Value value : getReadValues(op))
    if (Operation *source = value.getDefiningOp();
        source && !mapping.contains(value))
      cloneWithSources(source, builder);
  builder.clone(*op, mapping);
}

/// What leaves the old body: hoisted ops, and the constants and reshapes that
/// only these read.
llvm::SetVector<Operation *> Splitter::findErased() {
  llvm::SetVector<Operation *> erased;
  for (Operation &op : llvm::reverse(body())) {
    bool unread = isFreeToRepeat(&op) && !op.use_empty() &&
                  llvm::all_of(op.getUsers(), [&](Operation *user) {
                    return erased.contains(body().findAncestorOpInBlock(*user));
                  });
    if (unread || hoisted.contains(&op))
      erased.insert(&op);
  }
  return erased;
}

static DictionaryAttr getAttributes(func::FuncOp function,
                                    BlockArgument argument) {
  DictionaryAttr attributes = function.getArgAttrDict(argument.getArgNumber());
  return attributes ? attributes : DictionaryAttr::get(function.getContext());
}

func::FuncOp Splitter::createPrepare(StringRef name) {
  OpBuilder builder(function);
  auto prepare = func::FuncOp::create(
      builder, function.getLoc(), name,
      builder.getFunctionType({}, ValueRange(prepared).getTypes()));
  prepare.setVisibility(function.getVisibility());
  Block *entry = prepare.addEntryBlock();
  // The parameters that the hoisted ops read, in the function's order.
  llvm::SetVector<Operation *> reached = hoisted;
  llvm::DenseSet<Value> read;
  for (size_t i = 0; i != reached.size(); ++i)
    for (Value value : getReadValues(reached[i])) {
      read.insert(value);
      if (Operation *source = value.getDefiningOp())
        reached.insert(source);
    }
  // Callers give all parameters, those too that nothing reads.
  auto isUnread = [&](BlockArgument argument) {
    return argument.use_empty() &&
           function.getArgAttr(argument.getArgNumber(),
                               TenonDialect::kParamAttr);
  };
  for (BlockArgument argument : function.getArguments()) {
    if (!read.contains(argument) && !isUnread(argument))
      continue;
    unsigned number = prepare.getNumArguments();
    (void)prepare.insertArgument(number, argument.getType(),
                                 getAttributes(function, argument),
                                 argument.getLoc());
    mapping.map(argument, entry->getArgument(number));
  }
  builder.setInsertionPointToEnd(entry);
  for (Operation *op : llvm::reverse(hoisted))
    cloneWithSources(op, builder);
  SmallVector<Value> results = llvm::map_to_vector(
      prepared, [&](Value value) { return mapping.lookup(value); });
  func::ReturnOp::create(builder, function.getLoc(), results);
  return prepare;
}

/// Puts the arguments in order: activations, parameters that are still read,
/// prepared values.
void Splitter::rebuildArguments() {
  SmallVector<DictionaryAttr> attributes;
  SmallVector<Type> types;
  unsigned oldCount = body().getNumArguments();
  auto append = [&](Value old, DictionaryAttr dictionary) {
    old.replaceAllUsesWith(body().addArgument(old.getType(), old.getLoc()));
    types.push_back(old.getType());
    attributes.push_back(dictionary);
  };
  Builder builder(function.getContext());
  for (bool parameters : {false, true})
    for (unsigned i = 0; i != oldCount; ++i) {
      BlockArgument argument = body().getArgument(i);
      bool isParameter = !!function.getArgAttr(i, TenonDialect::kParamAttr);
      if (isParameter == parameters && !(isParameter && argument.use_empty()))
        append(argument, getAttributes(function, argument));
    }
  for (auto [index, value] : llvm::enumerate(prepared))
    append(value,
           builder.getDictionaryAttr(builder.getNamedAttr(
               TenonDialect::kPreparedAttr, builder.getI64IntegerAttr(index))));
  body().eraseArguments(0, oldCount);
  function.setType(builder.getFunctionType(types, function.getResultTypes()));
  function.setAllArgAttrs(attributes);
}

void Splitter::split(StringRef prepareName, StringRef runName) {
  llvm::SetVector<Operation *> erased = findErased();
  for (Operation *op : llvm::reverse(hoisted))
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUsers(), [&](Operation *user) {
            return !erased.contains(body().findAncestorOpInBlock(*user));
          }))
        prepared.push_back(result);
  func::FuncOp prepare = createPrepare(prepareName);
  // So that the arguments which only these ops read have no uses.
  for (Operation *op : erased)
    op->dropAllReferences();
  rebuildArguments();
  for (Operation *op : erased)
    op->erase();
  function.setSymName(runName);
  function->setAttr(TenonDialect::kPrepareAttr,
                    FlatSymbolRefAttr::get(prepare.getSymNameAttr()));
}

void tenon::splitFunction(func::FuncOp function,
                          const llvm::SetVector<Operation *> &hoisted,
                          StringRef prepareName, StringRef runName) {
  Splitter{function, hoisted}.split(prepareName, runName);
}
