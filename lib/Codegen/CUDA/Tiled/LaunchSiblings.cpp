//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Several layers of one x in one launch.
//
//===----------------------------------------------------------------------===//

#include "LaunchSiblings.h"

#include "Codegen/CUDA/Emit/HostValues.h"
#include "LaunchTiled.h"
#include "TiledLaunch.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::tenon;

/// Whether what comes after `op` may as well come before it.
static bool touchesNoBuffer(Operation *op) {
  if (isMemoryEffectFree(op))
    return true;
  auto effects = getEffectsRecursively(op);
  return effects && llvm::all_of(*effects, [](const auto &effect) {
           return isa<MemoryEffects::Allocate>(effect.getEffect());
         });
}

SmallVector<TiledLinearOp> tenon::findSiblings(TiledLinearOp op) {
  ScheduleAttr schedule = op.getSchedule();
  SmallVector<TiledLinearOp> siblings{op};
  auto needsNone = [&](TiledLinearOp tiled) {
    return llvm::none_of(tiled.getOperands(), [&](Value operand) {
      return llvm::any_of(siblings, [&](TiledLinearOp sibling) {
        return llvm::is_contained(sibling.getOutputs(), operand);
      });
    });
  };
  for (Operation *next = op->getNextNode();
       next && std::ssize(siblings) != schedule.getSiblings();
       next = next->getNextNode()) {
    if (auto tiled = dyn_cast<TiledLinearOp>(next);
        tiled && tiled.getSchedule() == schedule && tiled.getX() == op.getX() &&
        needsNone(tiled))
      siblings.push_back(tiled);
    else if (!touchesNoBuffer(next))
      break;
  }
  return siblings;
}

/// Emits one kernel for all and its launch, by a block for each tile.
static void launchTogether(ArrayRef<TiledLinearOp> siblings, TiledLaunch &last,
                           gpu::GPUModuleOp module,
                           SmallVectorImpl<Attribute> &kernels) {
  SmallVector<KernelPart, 0> parts;
  SmallVector<Attribute> ofParts;
  int64_t columnUnits = 0;
  for (TiledLinearOp sibling : siblings) {
    TiledLaunch one(sibling, module, ofParts);
    one.b.restoreInsertionPoint(last.b.saveInsertionPoint());
    one.m = last.m;
    TileGeometry geometry(sibling, sibling.getSchedule(), /*isAligned=*/true);
    geometry.columnUnitsBefore = columnUnits;
    columnUnits += geometry.columnUnits();
    parts.push_back(
        {geometry, one.emitKernel(geometry), one.getArguments(geometry)});
  }
  TiledLinearOp op = siblings.back();
  StringRef function = op->getParentOfType<FunctionOpInterface>().getName();
  std::string name =
      makeKernelName(module, (function + "_tiled_siblings").str());
  kernels.push_back(last.b.getStringAttr(name));
  MergedKernel merged = mergeKernels(op.getLoc(), module, name, parts);
  const TileGeometry &geometry = parts[0].geometry;
  last.createLaunch(geometry, merged.kernel,
                    last.createWork(geometry, columnUnits), merged.arguments);
}

LogicalResult tenon::lowerSiblings(ArrayRef<TiledLinearOp> siblings,
                                   gpu::GPUModuleOp module,
                                   SmallVectorImpl<Attribute> &kernels) {
  SmallVector<Value> operands;
  for (TiledLinearOp sibling : siblings) {
    if (failed(checkTiled(sibling)))
      return failure();
    llvm::append_range(operands, sibling.getOperands());
  }
  TiledLaunch last(siblings.back(), module, kernels);
  last.m = last.createRows();
  // Kernels for other pointers have a launch each.
  emitIfAligned(
      last.b, operands,
      [&] { launchTogether(siblings, last, module, kernels); },
      [&] {
        for (TiledLinearOp sibling : siblings)
          sibling->moveBefore(last.b.getInsertionBlock()->getTerminator());
      });
  for (TiledLinearOp sibling : siblings)
    lowerUnaligned(sibling, module, kernels);
  return success();
}
