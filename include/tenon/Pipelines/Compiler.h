//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From a module of tenon ops to the LLVM module of a compiled model.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_PIPELINES_COMPILER_H
#define TENON_PIPELINES_COMPILER_H

#include "tenon/Codegen/CUDA/Binary/CompileKernels.h"
#include "tenon/Codegen/Host/ModelDescription.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Support/LLVM.h"
#include "mlir/Support/Timing.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

namespace llvm {
class SourceMgr;
} // namespace llvm

namespace mlir::tenon {

struct CompileOptions {
  /// GPU architectures, "sm_90a"; none: CPU code only, which is always there.
  std::vector<std::string> cudaTargets;
#define TENON_SWITCH(NAME, FLAG, HELP) bool NAME = false;
#define TENON_TEXT(NAME, FLAG, DEFAULT, VALUES, HELP)                          \
  std::string NAME = DEFAULT;
#include "tenon-c/CompileOptions.def"
};

/// What is wrong with `options`, "option=value is ..."; "" if nothing.
std::string findProblem(const CompileOptions &options);

/// A model in LLVM IR, and what its parts were made of.
struct CompiledModel {
  ModelDescription description;
  CompiledKernels kernels; ///< empty without CUDA targets
  std::unique_ptr<llvm::LLVMContext> context;
  /// Optimised, with the image; owned by `context`.
  std::unique_ptr<llvm::Module> module;
};

/// A step of the compilation that can be stopped after and printed.
struct Stage {
  StringLiteral name, summary;
};
/// In the order in which they run; the names of the last ones begin with the
/// device whose code they are about.
ArrayRef<Stage> getStages();

/// Reads a model. Arguments without a `tenon.name` are named as the text names
/// them. Diagnostics go to the context's handler.
OwningOpRef<ModuleOp> loadModel(llvm::SourceMgr &sources, MLIRContext *context);

/// Runs the stages up to and including `stage` on `module`.
LogicalResult runUntil(ModuleOp module, StringRef stage,
                       const CompileOptions &options);

/// Compiles all public functions of `source`, which is left as it is. An active
/// `timing` gets a scope for each part of the work.
FailureOr<CompiledModel> compileModel(ModuleOp source,
                                      const CompileOptions &options,
                                      TimingScope &timing);
FailureOr<CompiledModel> compileModel(ModuleOp source,
                                      const CompileOptions &options);

/// Registers LLVM's back ends for hosts and GPUs, once. Its registry is for one
/// thread at a time, and kernels are compiled on others.
void initializeBackEnds();

/// The `cpu` of models for AArch64, of which there is one level.
inline constexpr StringLiteral kAArch64 = "aarch64";

/// Optimises a module for CPUs of the level, of x86-64 or `kAArch64`; fails
/// where this build of LLVM has none of these.
LogicalResult optimizeHostCode(llvm::Module &module, StringRef cpuLevel);

/// Machine code of `module`, which is optimised, as a relocatable object.
FailureOr<SmallVector<char, 0>> emitObject(llvm::Module &module,
                                           StringRef cpuLevel);

/// Links an object into a shared object, which needs libtenon_runtime and looks
/// for it beside itself. The error says what went wrong.
llvm::Expected<std::string>
linkSharedObject(ArrayRef<char> object, StringRef soname, StringRef cpuLevel);

/// Writes the shared object made of `object`, and the model's C header unless
/// `header` is empty: both whole, or neither. The error says what went wrong.
llvm::Error writeSharedObject(const CompiledModel &model, ArrayRef<char> object,
                              StringRef output, StringRef header);

} // namespace mlir::tenon

#endif // TENON_PIPELINES_COMPILER_H
