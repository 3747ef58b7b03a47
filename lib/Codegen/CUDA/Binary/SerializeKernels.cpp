//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// --tenon-serialize-kernels: the kernels as a fat binary in the module.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/CUDA/Binary/CompileKernels.h"
#include "tenon/Codegen/CUDA/Passes.h"

#include "mlir/Pass/PassManager.h"
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
      emitError(module.getLoc(),
                "no target given; use targets=sm_90a, for example");
      return signalPassFailure();
    }
    // In tenon-compile's pipeline a stage before does this.
    OpPassManager passes(ModuleOp::getOperationName());
    buildCleanKernels(passes);
    if (failed(runPipeline(passes, module)))
      return signalPassFailure();
    auto compilation = KernelCompilation::begin(module, names);
    if (failed(compilation))
      return signalPassFailure();
    FailureOr<CompiledKernels> kernels = compilation->finish();
    if (failed(kernels))
      return signalPassFailure();
    for (auto gpuModule :
         llvm::make_early_inc_range(module.getOps<gpu::GPUModuleOp>())) {
      OpBuilder builder(gpuModule);
      if (!kernels->fatbin.empty())
        gpu::BinaryOp::create(builder, gpuModule.getLoc(), gpuModule.getName(),
                              /*offloadingHandler=*/nullptr,
                              createObjects(*kernels));
      gpuModule.erase();
    }
  }

private:
  /// PTX of each target, then the fat binary.
  SmallVector<Attribute> createObjects(const CompiledKernels &kernels) {
    SmallVector<Attribute> objects;
    for (const auto &[target, ptx] : kernels.ptx)
      objects.push_back(createObject(target, gpu::CompilationTarget::Assembly,
                                     ptx, describe(kernels, target)));
    objects.push_back(createObject(kernels.ptx.begin()->first,
                                   gpu::CompilationTarget::Fatbin,
                                   kernels.fatbin, DictionaryAttr()));
    return objects;
  }

  Attribute createObject(StringRef target, gpu::CompilationTarget format,
                         StringRef content, DictionaryAttr properties) {
    MLIRContext *context = &getContext();
    return gpu::ObjectAttr::get(
        context,
        NVVM::NVVMTargetAttr::get(context, /*optLevel=*/3,
                                  "nvptx64-nvidia-cuda", target),
        format, StringAttr::get(context, content), properties,
        gpu::KernelTableAttr());
  }

  /// What each kernel needs on `target`.
  DictionaryAttr describe(const CompiledKernels &kernels, StringRef target) {
    Builder builder(&getContext());
    NamedAttrList list;
    for (const KernelResources &kernel : kernels.resources)
      if (kernel.target == target)
        list.set(
            kernel.kernel,
            builder.getDictionaryAttr(
                {builder.getNamedAttr(
                     "registers", builder.getI64IntegerAttr(kernel.registers)),
                 builder.getNamedAttr("shared_bytes", builder.getI64IntegerAttr(
                                                          kernel.sharedBytes)),
                 builder.getNamedAttr(
                     "spilled_bytes",
                     builder.getI64IntegerAttr(kernel.spilledBytes))}));
    return list.getDictionary(&getContext());
  }
};
} // namespace
