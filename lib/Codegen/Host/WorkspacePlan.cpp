//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lets temporaries whose lives do not overlap share memory.
//
//===----------------------------------------------------------------------===//

#include "WorkspacePlan.h"

using namespace mlir;

namespace {
/// The ops of a block between which a buffer holds something.
struct Life {
  Operation *first, *last;
};
} // namespace

/// From the first to the last op of the allocation's block that can touch its
/// memory, through any memref made of it.
static Life findLife(memref::AllocOp alloc) {
  Life life{nullptr, alloc};
  SmallVector<Value> aliases{alloc};
  while (!aliases.empty())
    for (Operation *user : aliases.pop_back_val().getUsers()) {
      Operation *ancestor = alloc->getBlock()->findAncestorOpInBlock(*user);
      if (!life.first || ancestor->isBeforeInBlock(life.first))
        life.first = ancestor;
      if (life.last->isBeforeInBlock(ancestor))
        life.last = ancestor;
      for (Value result : user->getResults())
        if (isa<BaseMemRefType>(result.getType()))
          aliases.push_back(result);
    }
  if (!life.first)
    life.first = alloc;
  return life;
}

SmallVector<unsigned> tenon::planWorkspace(ArrayRef<memref::AllocOp> allocs) {
  struct Slice {
    memref::AllocOp owner;
    Operation *lastUser;
  };
  SmallVector<Slice> slices;
  SmallVector<unsigned> plan;
  for (memref::AllocOp alloc : allocs) {
    Life life = findLife(alloc);
    auto *slice = llvm::find_if(slices, [&](Slice &candidate) {
      return candidate.owner.getType() == alloc.getType() &&
             llvm::equal(candidate.owner->getOperands(),
                         alloc->getOperands()) &&
             candidate.lastUser->isBeforeInBlock(life.first);
    });
    if (slice == slices.end())
      slice = slices.insert(slices.end(), Slice{alloc, nullptr});
    slice->lastUser = life.last;
    plan.push_back(slice - slices.begin());
  }
  return plan;
}
