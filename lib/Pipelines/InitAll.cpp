//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tenon/Pipelines/InitAll.h"

#include "tenon/Codegen/CPU/Passes.h"
#include "tenon/Codegen/CUDA/Passes.h"
#include "tenon/Codegen/Host/Passes.h"
#include "tenon/Dialect/BlasLt/IR/BlasLt.h"
#include "tenon/Dialect/Tenon/IR/Tenon.h"
#include "tenon/Pipelines/Pipelines.h"
#include "tenon/Transforms/Passes.h"

#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"

using namespace mlir;

void tenon::registerAllDialects(DialectRegistry &registry) {
  registry.insert<TenonDialect, blaslt::BlasLtDialect>();
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  registerAllToLLVMIRTranslations(registry);
}

void tenon::registerAllPasses() {
  mlir::registerAllPasses();
  registerCPUPasses();
  registerTenonCodegenHostPasses();
  registerTransformsPasses();
  registerPipelines();
  registerTenonCodegenCUDAPasses();
}
