//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How kernels are simplified.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/CUDA/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

/// Compares each two values that a loop carries, which of accumulators are over
/// a hundred: most of the canonicalizer's time, and LLVM does it anyway.
static constexpr const char *kQuadraticPattern =
    "(anonymous namespace)::RemoveDuplicateSuccessorInputUses";

/// Functions are cleaned each by itself, and so side by side.
static void cleanEach(OpPassManager &pm) {
  pm.addPass(
      createCanonicalizerPass(GreedyRewriteConfig(), {kQuadraticPattern}));
  pm.addPass(createCSEPass());
}

void tenon::buildCleanKernels(OpPassManager &pm) {
  cleanEach(pm.nest<func::FuncOp>());
  cleanEach(pm.nest<gpu::GPUModuleOp>().nest<LLVM::LLVMFuncOp>());
}
