//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes machine code of a model's LLVM module: for x86-64, or for AArch64.
//
//===----------------------------------------------------------------------===//

#include "tenon/Pipelines/Compiler.h"

#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

#include <mutex>

using namespace mlir;

void tenon::initializeBackEnds() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
    initializePtx();
  });
}

static std::unique_ptr<llvm::TargetMachine> makeMachine(StringRef cpuLevel) {
  tenon::initializeBackEnds();
  bool isAArch64 = cpuLevel == tenon::kAArch64;
  llvm::Triple triple(isAArch64 ? "aarch64-unknown-linux-gnu"
                                : "x86_64-unknown-linux-gnu");
  std::string error;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return nullptr;
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, isAArch64 ? "generic" : cpuLevel, /*Features=*/"",
      llvm::TargetOptions(), llvm::Reloc::PIC_, std::nullopt,
      llvm::CodeGenOptLevel::Default));
}

LogicalResult tenon::optimizeHostCode(llvm::Module &module,
                                      StringRef cpuLevel) {
  std::unique_ptr<llvm::TargetMachine> machine = makeMachine(cpuLevel);
  if (!machine)
    return failure();
  module.setTargetTriple(machine->getTargetTriple());
  module.setDataLayout(machine->createDataLayout());
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graphs;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(machine.get());
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graphs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graphs, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2)
      .run(module, modules);
  return success();
}

FailureOr<SmallVector<char, 0>> tenon::emitObject(llvm::Module &module,
                                                  StringRef cpuLevel) {
  std::unique_ptr<llvm::TargetMachine> machine = makeMachine(cpuLevel);
  if (!machine)
    return failure();
  SmallVector<char, 0> object;
  llvm::raw_svector_ostream os(object);
  llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, os, /*DwoOut=*/nullptr,
                                   llvm::CodeGenFileType::ObjectFile))
    return failure();
  passes.run(module);
  return object;
}
