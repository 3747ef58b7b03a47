//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From LLVM IR to PTX, in this process.
//
//===----------------------------------------------------------------------===//

#include "PtxEmitter.h"

#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Linker/Linker.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/IPO/Internalize.h"

#include <mutex>

using namespace llvm;
using namespace mlir::tenon;

void mlir::tenon::initializePtx() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
}

static Error makeError(const Twine &message) {
  return createStringError(inconvertibleErrorCode(), message);
}

static Expected<std::unique_ptr<TargetMachine>>
createMachine(const TargetSpec &spec) {
  Triple triple("nvptx64-nvidia-cuda");
  std::string message;
  const Target *target = TargetRegistry::lookupTarget(triple, message);
  if (!target)
    return makeError("this LLVM has no NVPTX back end: " + message);
  return std::unique_ptr<TargetMachine>(target->createTargetMachine(
      triple, spec.name, spec.ptxFeature, TargetOptions(), std::nullopt,
      std::nullopt, CodeGenOptLevel::Aggressive));
}

/// Brings the functions of libdevice that `module` calls into it.
static Error linkLibdevice(Module &module, StringRef path) {
  if (none_of(module, [](const Function &function) {
        return function.isDeclaration() &&
               function.getName().starts_with("__nv_");
      }))
    return Error::success();
  SMDiagnostic diagnostic;
  std::unique_ptr<Module> library =
      getLazyIRFileModule(path, diagnostic, module.getContext());
  if (!library)
    return makeError("cannot read " + path + ": " + diagnostic.getMessage());
  library->setTargetTriple(module.getTargetTriple());
  library->setDataLayout(module.getDataLayout());
  auto internalize = [](Module &linked, const StringSet<> &names) {
    internalizeModule(linked, [&](const GlobalValue &value) {
      return !value.hasName() || !names.contains(value.getName());
    });
  };
  if (Linker::linkModules(module, std::move(library), Linker::LinkOnlyNeeded,
                          internalize))
    return makeError("cannot link " + path);
  return Error::success();
}

static void optimize(Module &module, TargetMachine &machine) {
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager components;
  ModuleAnalysisManager modules;
  PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  builder.buildPerModuleDefaultPipeline(OptimizationLevel::O3)
      .run(module, modules);
}

Expected<std::string> mlir::tenon::emitPtx(StringRef bitcode,
                                           const TargetSpec &target,
                                           StringRef libdevice) {
  LLVMContext context;
  Expected<std::unique_ptr<Module>> module =
      parseBitcodeFile(MemoryBufferRef(bitcode, "kernels"), context);
  if (!module)
    return module.takeError();
  Expected<std::unique_ptr<TargetMachine>> machine = createMachine(target);
  if (!machine)
    return machine.takeError();
  (*module)->setTargetTriple((*machine)->getTargetTriple());
  (*module)->setDataLayout((*machine)->createDataLayout());
  if (Error error = linkLibdevice(**module, libdevice))
    return std::move(error);
  optimize(**module, **machine);
  SmallString<0> ptx;
  raw_svector_ostream stream(ptx);
  legacy::PassManager passes;
  if ((*machine)->addPassesToEmitFile(passes, stream, nullptr,
                                      CodeGenFileType::AssemblyFile))
    return makeError("this LLVM cannot write PTX");
  passes.run(**module);
  return std::string(ptx);
}
