//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tells parameters and what is computed from them from what changes with each
// call.
//
//===----------------------------------------------------------------------===//

#include "tenon/Transforms/Parameters.h"

#include "tenon/Dialect/Tenon/IR/Tenon.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace mlir::tenon;

SmallVector<Value> tenon::getReadValues(Operation *op) {
  llvm::SetVector<Value> values(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), values);
  return values.takeVector();
}

static Dependence ofArgument(BlockArgument argument) {
  Block *block = argument.getOwner();
  auto function = dyn_cast_or_null<FunctionOpInterface>(block->getParentOp());
  if (!function || !block->isEntryBlock())
    return Dependence::Call;
  unsigned number = argument.getArgNumber();
  bool marked = function.getArgAttr(number, TenonDialect::kParamAttr) ||
                function.getArgAttr(number, TenonDialect::kPreparedAttr);
  return marked ? Dependence::Parameters : Dependence::Call;
}

Dependence DependenceAnalysis::of(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return ofArgument(argument);
  return of(value.getDefiningOp());
}

Dependence DependenceAnalysis::of(Operation *op) {
  if (auto found = known.find(op); found != known.end())
    return found->second;
  Dependence result = Dependence::Nothing;
  if (!isPure(op) || op->hasTrait<OpTrait::IsTerminator>())
    result = Dependence::Call;
  else
    for (Value value : getReadValues(op))
      result = std::max(result, of(value));
  return known[op] = result;
}
