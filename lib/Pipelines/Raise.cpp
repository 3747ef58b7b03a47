//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What comes before a model is one of tenon ops: linalg and TOSA.
//
//===----------------------------------------------------------------------===//

#include "tenon/Conversion/Passes.h"
#include "tenon/Pipelines/Pipelines.h"

#include "mlir/Conversion/TosaToArith/TosaToArith.h"
#include "mlir/Conversion/TosaToLinalg/TosaToLinalg.h"
#include "mlir/Conversion/TosaToTensor/TosaToTensor.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tosa/IR/TosaOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

bool tenon::needsRaising(ModuleOp module) {
  WalkResult result = module.walk([](Operation *op) {
    return isa_and_nonnull<linalg::LinalgDialect, tosa::TosaDialect>(
               op->getDialect())
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  return result.wasInterrupted();
}

void tenon::buildRaiseStage(OpPassManager &pm) {
  // Exporters keep functions of their library apart.
  pm.addPass(createInlinerPass());
  pm.addPass(createSymbolDCEPass());
  OpPassManager &functions = pm.nest<func::FuncOp>();
  functions.addPass(createTenonFlattenSignatures());
  functions.addPass(tosa::createTosaToLinalgNamed());
  functions.addPass(tosa::createTosaToLinalg());
  functions.addPass(createTosaToArithPass());
  functions.addPass(createTosaToTensorPass());
  functions.addPass(createCanonicalizerPass());
  functions.addPass(createCSEPass());
  functions.addPass(createTenonFlattenLoops());
  functions.addPass(createCanonicalizerPass());
  pm.addPass(createTenonRaiseLinalg());
  OpPassManager &raised = pm.nest<func::FuncOp>();
  raised.addPass(createCanonicalizerPass());
  raised.addPass(createCSEPass());
}
