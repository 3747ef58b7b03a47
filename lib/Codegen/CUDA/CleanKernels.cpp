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

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

/// Compares each two values that a loop carries, which of accumulators are over
/// a hundred: most of the canonicalizer's time, and LLVM does it anyway.
static constexpr const char *kQuadraticPattern =
    "(anonymous namespace)::RemoveDuplicateSuccessorInputUses";

void tenon::buildCleanKernels(OpPassManager &pm) {
  pm.addPass(
      createCanonicalizerPass(GreedyRewriteConfig(), {kQuadraticPattern}));
  pm.addPass(createCSEPass());
}
