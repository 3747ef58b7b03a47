//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Has short kernels begin while those before them end, as long ones do.
//
//===----------------------------------------------------------------------===//

#include "OverlapKernels.h"

#include "tenon/Dialect/Tenon/IR/Tenon.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::tenon;

static bool waitsItself(LLVM::LLVMFuncOp kernel) {
  return kernel
      .walk([](NVVM::GriddepcontrolOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

/// At the kernel's very start, unless it has a place for it: what it could do
/// before is seldom worth a search for its first access to memory. When it
/// starts, the kernel before it waits no longer, so all those before that one
/// have ended.
static void emitWait(LLVM::LLVMFuncOp kernel) {
  Block &body = kernel.getBody().front();
  auto place = llvm::find_if(
      body, [](Operation &op) { return op.hasAttr(kWaitsHereAttr); });
  ImplicitLocOpBuilder b(kernel.getLoc(), kernel.getContext());
  if (place == body.end()) {
    b.setInsertionPointToStart(&body);
  } else {
    place->removeAttr(kWaitsHereAttr);
    b.setInsertionPoint(&*place);
  }
  NVVM::GriddepcontrolOp::create(b, NVVM::GridDepActionKind::wait);
  NVVM::GriddepcontrolOp::create(b, NVVM::GridDepActionKind::launch_dependents);
}

void tenon::overlapKernels(gpu::GPUModuleOp kernels, ModuleOp module) {
  SmallVector<LLVM::LLVMFuncOp> others;
  bool isPossible = false;
  for (auto function : kernels.getOps<LLVM::LLVMFuncOp>()) {
    if (!function->hasAttr(NVVM::NVVMDialect::getKernelFuncAttrName()))
      continue;
    if (waitsItself(function))
      isPossible = true;
    else
      others.push_back(function);
  }
  if (!isPossible)
    return;
  llvm::for_each(others, emitWait);
  module.walk([](LaunchOp launch) { launch.setWaitsItself(true); });
}
