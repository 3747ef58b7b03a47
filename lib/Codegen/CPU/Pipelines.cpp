//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The CPU target's two pipelines, before and after bufferization.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/CPU/Passes.h"

#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void tenon::buildCPUTensorPipeline(OpPassManager &manager) {
  OpPassManager &functions = manager.nest<func::FuncOp>();
  functions.addPass(createTenonToLinalg());
  functions.addPass(createConvertElementwiseToLinalgPass());
  // No CSE here: it would give two outputs one tensor.empty, hence a copy.
  functions.addPass(createCanonicalizerPass());
  functions.addPass(createTenonFuseElementwise());
  functions.addPass(createCanonicalizerPass());
}

void tenon::buildCPUBufferPipeline(OpPassManager &manager,
                                   unsigned vectorBits) {
  OpPassManager &functions = manager.nest<func::FuncOp>();
  functions.addPass(createTenonCPUMatmul({vectorBits}));
  functions.addPass(createTenonCPUSplit());
  functions.addPass(createTenonCPULoops({vectorBits}));
  // Parallel loops of one iteration go away here.
  functions.addPass(createCanonicalizerPass());
  functions.addPass(createCSEPass());
  manager.addPass(createTenonCPUMath());
  // LLVM would call a function to round to bf16.
  arith::ArithExpandOpsPassOptions expand;
  expand.includeBf16 = true;
  manager.addNestedPass<func::FuncOp>(arith::createArithExpandOpsPass(expand));
  manager.addPass(createTenonParallelToRuntime());
  OpPassManager &bodies = manager.nest<func::FuncOp>();
  bodies.addPass(createLoopInvariantCodeMotionPass());
  bodies.addPass(createCanonicalizerPass());
  bodies.addPass(createCSEPass());
}
