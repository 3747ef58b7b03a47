//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// lld, which links models, can optimise at link time, for any target; models
// need none of that. Functions that do nothing stand here for the ones that
// would bring 19 back ends along, more than half of the library.
//
//===----------------------------------------------------------------------===//

#include "llvm/Plugins/PassPlugin.h"

#define NO_ASM_PARSER(target)                                                  \
  extern "C" void LLVMInitialize##target##AsmParser() {}

#define NO_TARGET(target)                                                      \
  NO_ASM_PARSER(target)                                                        \
  extern "C" void LLVMInitialize##target##AsmPrinter() {}                      \
  extern "C" void LLVMInitialize##target##Target() {}                          \
  extern "C" void LLVMInitialize##target##TargetInfo() {}                      \
  extern "C" void LLVMInitialize##target##TargetMC() {}

NO_TARGET(AMDGPU)
NO_TARGET(ARM)
NO_TARGET(AVR)
NO_TARGET(BPF)
NO_TARGET(Hexagon)
NO_TARGET(Lanai)
NO_TARGET(LoongArch)
NO_TARGET(M68k)
NO_TARGET(MSP430)
NO_TARGET(Mips)
NO_TARGET(PowerPC)
NO_TARGET(RISCV)
NO_TARGET(SPIRV)
NO_TARGET(Sparc)
NO_TARGET(SystemZ)
NO_TARGET(VE)
NO_TARGET(WebAssembly)
NO_TARGET(XCore)
NO_TARGET(Xtensa)
NO_ASM_PARSER(AArch64)
NO_ASM_PARSER(X86)

// Debian's archives name Polly and lack it.
llvm::PassPluginLibraryInfo getPollyPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "none", "", nullptr, nullptr};
}
