//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// --tenon-serialize-kernels: the kernels as a fat binary in the module.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/CUDA/CompileKernels.h"
#include "tenon/Codegen/CUDA/Passes.h"

#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"

namespace mlir::tenon {
#define GEN_PASS_DEF_TENONSERIALIZEKERNELS
#include "tenon/Codegen/CUDA/Passes.h.inc"
} // namespace mlir::tenon

using namespace mlir;
using namespace mlir::tenon;

namespace {
struct SerializeKernels
    : tenon::impl::TenonSerializeKernelsBase<SerializeKernels> {
  using Base::Base;

  void getDependentDialects(DialectRegistry &registry) const override {
    Base::getDependentDialects(registry);
    registerBuiltinDialectTranslation(registry);
    registerGPUDialectTranslation(registry);
    registerLLVMDialectTranslation(registry);
    registerNVVMDialectTranslation(registry);
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<std::string> names(targets.begin(), targets.end());
    if (names.empty()) {
      module.emitError("no target given; use targets=sm_90a, for example");
      return signalPassFailure();
    }
    FailureOr<CompiledKernels> kernels = compileKernels(module, names);
    if (failed(kernels))
      return signalPassFailure();
    for (auto gpuModule :
         llvm::make_early_inc_range(module.getOps<gpu::GPUModuleOp>())) {
      OpBuilder builder(gpuModule);
      if (!kernels->fatbin.empty()) {
        auto target = NVVM::NVVMTargetAttr::get(
            &getContext(), /*optLevel=*/3, "nvptx64-nvidia-cuda", names.back());
        auto object = gpu::ObjectAttr::get(
            &getContext(), target, gpu::CompilationTarget::Fatbin,
            builder.getStringAttr(kernels->fatbin), DictionaryAttr(),
            gpu::KernelTableAttr());
        gpu::BinaryOp::create(builder, gpuModule.getLoc(),
                              gpuModule.getName(), /*offloadingHandler=*/nullptr,
                              ArrayRef<Attribute>{object});
      }
      gpuModule.erase();
    }
  }
};
} // namespace
