//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From LLVM IR to PTX, in this process: each kernel for itself, side by side.
//
//===----------------------------------------------------------------------===//

#include "PtxEmitter.h"

#include "tenon/Codegen/CUDA/Binary/CompileKernels.h"

#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Linker/Linker.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/NVPTXAddrSpace.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/ThreadPool.h"
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
  for (const Function &function : module)
    if (function.isDeclaration() && function.getName().starts_with("__nv_"))
      return makeError(path + " has no function " + function.getName());
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

/// Takes structs apart where they are made. Instruction selection would copy
/// all of a struct that comes from another block for each element, and a
/// wgmma's accumulators are one of 128.
static void extractAtDefinitions(Module &module) {
  for (Function &function : module)
    for (Instruction &instruction :
         make_early_inc_range(instructions(function)))
      if (auto *extract = dyn_cast<ExtractValueInst>(&instruction))
        if (auto *made = dyn_cast<Instruction>(extract->getAggregateOperand()))
          if (made->getParent() != extract->getParent())
            extract->moveBefore(*made->getInsertionPointAfterDef());
}

static bool isKernel(const Function &function) {
  return function.getCallingConv() == CallingConv::PTX_Kernel;
}

/// Whether kernels have a variable together: shared memory is of a block, and
/// of a constant each may have a copy.
static bool isOfAll(const GlobalVariable &variable) {
  return variable.getAddressSpace() != NVPTXAS::ADDRESS_SPACE_SHARED &&
         !(variable.isConstant() && variable.hasLocalLinkage());
}

/// Leaves one of a module's kernels, and functions that it may call. Variables
/// of all kernels are defined beside the first.
static void keepKernel(Module &module, StringRef kernel, bool isFirst) {
  for (Function &function : module)
    if (isKernel(function) && function.getName() != kernel)
      function.deleteBody();
    else if (!isKernel(function) && !function.isDeclaration())
      function.setLinkage(GlobalValue::InternalLinkage);
  for (GlobalVariable &variable :
       make_filter_range(module.globals(), isOfAll)) {
    variable.setLinkage(GlobalValue::ExternalLinkage);
    if (!isFirst)
      variable.setInitializer(nullptr);
  }
}

/// Gives what is local to a kernel's module, but may not be to a text of
/// several, the kernel's name before its own. Shared memory becomes local to
/// the kernel.
static void nameLocals(Module &module, StringRef kernel) {
  for (GlobalValue &value : module.global_values())
    if (value.hasLocalLinkage() &&
        value.getAddressSpace() != NVPTXAS::ADDRESS_SPACE_SHARED)
      value.setName(kernel + "$" + value.getName());
}

static Expected<std::string> emitKernel(StringRef bitcode, StringRef kernel,
                                        bool isFirst, const TargetSpec &target,
                                        StringRef libdevice) {
  LLVMContext context;
  Expected<std::unique_ptr<Module>> module =
      getLazyBitcodeModule(MemoryBufferRef(bitcode, "kernels"), context);
  if (!module)
    return module.takeError();
  keepKernel(**module, kernel, isFirst);
  if (Error error = (*module)->materializeAll())
    return std::move(error);
  Expected<std::unique_ptr<TargetMachine>> machine = createMachine(target);
  if (!machine)
    return machine.takeError();
  (*module)->setTargetTriple((*machine)->getTargetTriple());
  (*module)->setDataLayout((*machine)->createDataLayout());
  if (Error error = linkLibdevice(**module, libdevice))
    return std::move(error);
  optimize(**module, **machine);
  extractAtDefinitions(**module);
  nameLocals(**module, kernel);
  SmallString<0> ptx;
  raw_svector_ostream stream(ptx);
  legacy::PassManager passes;
  if ((*machine)->addPassesToEmitFile(passes, stream, nullptr,
                                      CodeGenFileType::AssemblyFile))
    return makeError("this LLVM cannot write PTX");
  passes.run(**module);
  return std::string(ptx);
}

static Expected<std::vector<std::string>> listKernels(StringRef bitcode) {
  LLVMContext context;
  Expected<std::unique_ptr<Module>> module =
      getLazyBitcodeModule(MemoryBufferRef(bitcode, "kernels"), context);
  if (!module)
    return module.takeError();
  std::vector<std::string> kernels;
  for (const Function &function : make_filter_range(**module, isKernel))
    kernels.push_back(function.getName().str());
  return kernels;
}

/// One text has one header.
static StringRef dropHeader(StringRef ptx) {
  return ptx.split(".address_size 64\n").second;
}

Expected<std::string> mlir::tenon::emitPtx(StringRef bitcode,
                                           const TargetSpec &target,
                                           StringRef libdevice) {
  Expected<std::vector<std::string>> kernels = listKernels(bitcode);
  if (!kernels)
    return kernels.takeError();
  if (kernels->empty())
    return makeError("the gpu.module has no kernels");
  std::vector<std::string> texts(kernels->size()), errors(kernels->size());
  DefaultThreadPool pool;
  for (size_t i = 0; i != kernels->size(); ++i)
    pool.async([&, i] {
      Expected<std::string> text =
          emitKernel(bitcode, (*kernels)[i], i == 0, target, libdevice);
      if (text)
        texts[i] = std::move(*text);
      else
        errors[i] = toString(text.takeError());
    });
  pool.wait();
  std::string ptx;
  for (auto [text, error] : zip(texts, errors)) {
    if (!error.empty())
      return makeError(error);
    ptx += ptx.empty() ? StringRef(text) : dropHeader(text);
  }
  return ptx;
}
