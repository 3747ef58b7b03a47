//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// --tenon-emit-kernels: epilogues on memrefs become kernels and their launches.
//
//===----------------------------------------------------------------------===//

#include "Codegen/CUDA/Emit/OverlapKernels.h"
#include "Codegen/CUDA/Epilogue/LaunchEpilogue.h"
#include "Codegen/CUDA/InputMoments/LaunchMoments.h"
#include "Codegen/CUDA/Split/LaunchScaleBlocks.h"
#include "Codegen/CUDA/Split/LaunchSplit.h"
#include "Codegen/CUDA/Tiled/LaunchSiblings.h"
#include "Codegen/CUDA/Tiled/LaunchTiled.h"
#include "Codegen/CUDA/Tiled/MmaSync/MmaSyncKernels.h"
#include "Codegen/CUDA/Tiled/Wgmma/WgmmaKernels.h"

#include "tenon/Codegen/CUDA/Passes.h"

namespace mlir::tenon {
#define GEN_PASS_DEF_TENONEMITKERNELS
#include "tenon/Codegen/CUDA/Passes.h.inc"
} // namespace mlir::tenon

using namespace mlir;
using namespace mlir::tenon;

/// A name that no function has.
static std::string makeName(ModuleOp module) {
  std::string name = "kernels";
  while (module.lookupSymbol(name))
    name += "_";
  return name;
}

/// Makes the families of tiled kernels known.
static void registerTiledFamilies() {
  static const MmaSyncKernels mmaSync;
  static const WgmmaKernels wgmma;
  static const bool once = [] {
    TiledFamily::setAll({&mmaSync, &wgmma});
    return true;
  }();
  (void)once;
}

namespace {
struct EmitKernels : tenon::impl::TenonEmitKernelsBase<EmitKernels> {
  static LogicalResult lower(Operation *op, gpu::GPUModuleOp module,
                             SmallVectorImpl<Attribute> &kernels,
                             DenseSet<Operation *> &lowered) {
    if (auto tiled = dyn_cast<TiledLinearOp>(op)) {
      SmallVector<TiledLinearOp> siblings = findSiblings(tiled);
      if (siblings.size() == 1)
        return lowerTiledLinear(tiled, module, kernels);
      lowered.insert(siblings.begin(), siblings.end());
      return lowerSiblings(siblings, module, kernels);
    }
    if (auto split = dyn_cast<SplitOp>(op))
      return lowerSplit(split, module, kernels);
    if (auto scale = dyn_cast<ScaleBlocksOp>(op))
      return lowerScaleBlocks(scale, module, kernels);
    if (auto moments = dyn_cast<ProductMomentsOp>(op))
      return lowerProductMoments(moments, module, kernels);
    return lowerEpilogue(cast<EpilogueOp>(op), module, kernels);
  }

  void runOnOperation() override {
    registerTiledFamilies();
    ModuleOp module = getOperation();
    SmallVector<Operation *> ops;
    module.walk([&](Operation *op) {
      if (isa<EpilogueOp, ProductMomentsOp, ScaleBlocksOp, SplitOp,
              TiledLinearOp>(op))
        ops.push_back(op);
    });
    if (ops.empty())
      return;
    OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
    auto kernelModule =
        gpu::GPUModuleOp::create(builder, module.getLoc(), makeName(module));
    module->setAttr(gpu::GPUDialect::getContainerModuleAttrName(),
                    builder.getUnitAttr());
    SmallVector<Attribute> kernels;
    DenseSet<Operation *> lowered; // with a sibling before it
    for (Operation *op : ops)
      if (!lowered.contains(op) &&
          failed(lower(op, kernelModule, kernels, lowered)))
        return signalPassFailure();
    overlapKernels(kernelModule, module);
    module->setAttr(TenonDialect::kKernelsAttr, builder.getArrayAttr(kernels));
  }
};
} // namespace
