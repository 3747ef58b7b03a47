//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The pass --tenon-hoist-prepare: what depends on parameters alone moves to a
// function that runs once a version of them.
//
//===----------------------------------------------------------------------===//

#include "tenon/Transforms/HoistPrepare.h"
#include "tenon/Dialect/Tenon/IR/Tenon.h"
#include "tenon/Remarks/Reason.h"
#include "tenon/Transforms/Parameters.h"
#include "tenon/Transforms/Passes.h"

#include "mlir/IR/SymbolTable.h"

namespace mlir::tenon {
#define GEN_PASS_DEF_TENONHOISTPREPARE
#include "tenon/Transforms/Passes.h.inc"
} // namespace mlir::tenon

using namespace mlir;
using namespace mlir::tenon;

//===----------------------------------------------------------------------===//
// What moves
//===----------------------------------------------------------------------===//

/// Whether functions can give and take what `op` computes.
static bool isPassable(Operation *op) {
  return llvm::all_of(op->getResultTypes(), [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.getRank() <= 2 &&
           isa<FloatType>(tensor.getElementType());
  });
}

/// The ops of the entry block that move to prepare, the last first: those that
/// depend on parameters alone and that something left in the function needs.
/// What is only returned stays: a caller wants it with each call; and so does
/// what cannot be passed on, if anything that stays reads it.
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
      Operation *ancestor = block.findAncestorOpInBlock(*user);
      return !ancestor || needing.contains(ancestor);
    });
    if (!needed || dependence.of(&op) == Dependence::Nothing)
      continue;
    needing.insert(&op);
    bool isForHoisted = llvm::all_of(op.getUsers(), [&](Operation *user) {
      return hoisted.contains(block.findAncestorOpInBlock(*user));
    });
    if (!isFreeToRepeat(&op) && (isPassable(&op) || isForHoisted))
      hoisted.insert(&op);
  }
  return hoisted;
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
    ValuedRemark(remark::missed(function.getLoc(), options))
        << Reason(ReasonCode::IsCalled);
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
  splitFunction(function, hoisted, prepareName, runName);
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
