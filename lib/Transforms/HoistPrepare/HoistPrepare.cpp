//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The pass --tenon-hoist-prepare: what depends on parameters alone moves to a
// function that runs once a version of them.
//
//===----------------------------------------------------------------------===//

#include "tenon/Dialect/Tenon/IR/Tenon.h"
#include "tenon/Transforms/Parameters.h"
#include "tenon/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::tenon {
#define GEN_PASS_DEF_TENONHOISTPREPARE
#include "tenon/Transforms/Passes.h.inc"
} // namespace mlir::tenon

using namespace mlir;
using namespace mlir::tenon;

//===----------------------------------------------------------------------===//
// What moves
//===----------------------------------------------------------------------===//

/// Ops that cost nothing at run time: both functions get their own.
static bool isFree(Operation *op) {
  return op->hasTrait<OpTrait::ConstantLike>() ||
         isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::CastOp>(
             op);
}

/// The op of `block` that a use belongs to; null for a use in another block.
static Operation *getUserIn(Block &block, Operation *user) {
  return block.findAncestorOpInBlock(*user);
}

/// The ops of the entry block that move to prepare, the last first: those that
/// depend on parameters alone and that something left in the function needs.
/// What is only returned stays: a caller wants it with each call.
static llvm::SetVector<Operation *> findHoisted(Block &block) {
  DependenceAnalysis dependence;
  // Forward first, so that the analysis never recurses deeply.
  for (Operation &op : block)
    dependence.of(&op);
  llvm::SetVector<Operation *> hoisted;
  llvm::DenseSet<Operation *> needing; // ops whose operands are needed
  for (Operation &op : llvm::reverse(block)) {
    if (op.hasTrait<OpTrait::IsTerminator>())
      continue;
    if (dependence.of(&op) == Dependence::Call) {
      needing.insert(&op);
      continue;
    }
    bool needed = llvm::any_of(op.getUsers(), [&](Operation *user) {
      Operation *ancestor = getUserIn(block, user);
      return !ancestor || needing.contains(ancestor);
    });
    if (!needed || dependence.of(&op) == Dependence::Nothing)
      continue;
    needing.insert(&op);
    if (!isFree(&op))
      hoisted.insert(&op);
  }
  return hoisted;
}

//===----------------------------------------------------------------------===//
// The two functions
//===----------------------------------------------------------------------===//

namespace {
/// Splits one function.
struct Splitter {
  func::FuncOp function;
  llvm::SetVector<Operation *> hoisted; // the last first
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
    bool unread = isFree(&op) && !op.use_empty() &&
                  llvm::all_of(op.getUsers(), [&](Operation *user) {
                    return erased.contains(getUserIn(body(), user));
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
  for (BlockArgument argument : function.getArguments()) {
    if (!read.contains(argument))
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
            return !erased.contains(getUserIn(body(), user));
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

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Checks that nothing else has the name that `function` is about to get.
static LogicalResult checkFree(func::FuncOp function, StringRef name,
                               ModuleOp module) {
  Operation *other = SymbolTable::lookupSymbolIn(module, name);
  if (!other)
    return success();
  InFlightDiagnostic error = function.emitError()
                             << "cannot split '@" << function.getSymName()
                             << "': '@" << name
                             << "' exists already; rename one of them";
  error.attachNote(other->getLoc()) << "see the other one";
  return failure();
}

static LogicalResult hoist(func::FuncOp function, ModuleOp module) {
  if (function.isDeclaration() || function->hasAttr(TenonDialect::kPrepareAttr))
    return success();
  llvm::SetVector<Operation *> hoisted =
      findHoisted(function.getBody().front());
  if (hoisted.empty())
    return success();
  auto options = remark::RemarkOpts::name("HoistPrepare")
                     .category("tenon-hoist-prepare")
                     .function(function.getSymNameAttr().getValue());
  if (!SymbolTable::symbolKnownUseEmpty(function, module)) {
    remark::missed(function.getLoc(), options)
        << remark::reason("a caller would have to pass the prepared values")
        << remark::suggest("inline the calls first (--inline)");
    return success();
  }
  std::string name = function.getSymName().str();
  std::string prepareName = name + "_prepare", runName = name + "_run";
  if (failed(checkFree(function, prepareName, module)) ||
      failed(checkFree(function, runName, module)))
    return failure();
  remark::passed(function.getLoc(), options)
      << remark::add("{0} ops that depend on parameters alone moved to @{1}",
                     hoisted.size(), prepareName);
  Splitter{function, std::move(hoisted)}.split(prepareName, runName);
  return success();
}

namespace {
struct HoistPreparePass : tenon::impl::TenonHoistPrepareBase<HoistPreparePass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    for (auto function :
         llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
      if (failed(hoist(function, module)))
        return signalPassFailure();
  }
};
} // namespace
