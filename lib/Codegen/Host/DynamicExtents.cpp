//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Names of the dynamic extents of a function's tensors.
//
//===----------------------------------------------------------------------===//

#include "DynamicExtents.h"

#include "tenon/Dialect/Tenon/IR/Tenon.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::tenon;

static void *key(Value value) { return value.getAsOpaquePointer(); }

static bool isDynamic(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getRank() == 2 && type.isDynamicDim(0);
}

DynamicExtents::DynamicExtents(func::FuncOp function) {
  function.walk([&](Operation *op) {
    if (op->getDialect() && (isa<TenonDialect>(op->getDialect()) ||
                             op->hasTrait<OpTrait::Elementwise>()))
      unite(op);
  });
  for (BlockArgument argument : function.getArguments())
    if (isDynamic(argument))
      addName(argument);
}

std::string DynamicExtents::lookup(Value value) const {
  auto leader = classes.findLeader(key(value));
  return leader == classes.member_end() ? "" : names.lookup(*leader);
}

void DynamicExtents::unite(Operation *op) {
  void *first = nullptr;
  auto add = [&](Value value) {
    if (!isDynamic(value))
      return;
    first ? (void)classes.unionSets(first, key(value))
          : (void)classes.insert(key(value));
    first = first ? first : key(value);
  };
  llvm::for_each(op->getOperands(), add);
  llvm::for_each(op->getResults(), add);
  for (Region &region : op->getRegions())
    llvm::for_each(region.getArguments(), add);
}

void DynamicExtents::addName(Value value) {
  classes.insert(key(value));
  void *leader = *classes.findLeader(key(value));
  std::string name = names.empty() ? "m" : "m" + llvm::utostr(names.size());
  names.try_emplace(leader, name);
}
