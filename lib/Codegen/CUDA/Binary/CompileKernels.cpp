//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From gpu.modules to PTX, cubins and a fat binary; a thread for each target.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/CUDA/Binary/CompileKernels.h"

#include "PtxEmitter.h"
#include "Ptxas.h"

#include "tenon/Codegen/CUDA/Passes.h"
#include "tenon/Remarks/Reason.h"

#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

#include <thread>

using namespace mlir;
using namespace mlir::tenon;

namespace {
/// What comes of one target, or why nothing does.
struct TargetResult {
  std::string ptx, cubin, error;
  std::vector<KernelResources> resources;
};
} // namespace

/// Copies the kernels of `module` into one gpu.module, lowers them and writes
/// them as bitcode; nothing if there are none.
static FailureOr<SmallString<0>>
createBitcode(ModuleOp module, ArrayRef<const TargetSpec *> targets) {
  SmallString<0> bitcode;
  OwningOpRef<gpu::GPUModuleOp> kernels;
  for (auto gpuModule : module.getOps<gpu::GPUModuleOp>()) {
    if (kernels)
      return gpuModule.emitError("is the second gpu.module; a compiled model "
                                 "has one");
    kernels = gpuModule.clone();
  }
  if (!kernels || kernels->getBody()->empty())
    return bitcode;
  for (Operation &op : *kernels->getBody())
    if (!isa<SymbolOpInterface>(op)) // LLVM would end the process
      return op.emitError("stands outside of a function; a gpu.module that "
                          "is compiled has functions and globals alone");
  PassManager passes(module.getContext(), gpu::GPUModuleOp::getOperationName());
  TenonLowerKernelsOptions options;
  options.convertsBytes = llvm::all_of(
      targets, [](const TargetSpec *target) { return target->convertsBytes; });
  passes.addPass(createTenonLowerKernels(options));
  // Ops that LLVM has no intrinsic for become inline PTX.
  passes.nest<LLVM::LLVMFuncOp>().addPass(createConvertNVVMToLLVMPass());
  if (failed(passes.run(*kernels)))
    return failure();
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> translated =
      translateModuleToLLVMIR(*kernels, context, "kernels");
  if (!translated)
    return failure();
  llvm::raw_svector_ostream stream(bitcode);
  llvm::WriteBitcodeToFile(*translated, stream);
  return bitcode;
}

static bool spills(const KernelResources &kernel) {
  return kernel.spilledBytes != 0;
}

/// Removes how many blocks a multiprocessor should have at least from kernels
/// that spill: it costs registers, and spilling is worse. Other kernels keep
/// theirs, on which setmaxnreg may depend. Returns whether there was one.
static bool dropOccupancyHints(std::string &ptx,
                               ArrayRef<KernelResources> kernels) {
  llvm::StringSet<> spilling;
  for (const KernelResources &kernel : llvm::make_filter_range(kernels, spills))
    spilling.insert(kernel.kernel);
  if (spilling.empty())
    return false;
  std::string kept;
  bool isSpilling = false;
  for (StringRef line : llvm::split(ptx, '\n')) {
    if (auto [before, name] = line.split(".entry "); !name.empty())
      isSpilling =
          spilling.contains(name.take_until([](char c) { return c == '('; }));
    if (!isSpilling || !line.starts_with(".minnctapersm"))
      kept += (line + "\n").str();
  }
  bool dropped = kept.size() < ptx.size();
  ptx = std::move(kept);
  return dropped;
}

/// A division's rare path is a call, around which a few registers may have to
/// be saved: slower, not wrong.
static void reportSpills(Location loc, const CompiledKernels &kernels) {
  for (const KernelResources &kernel :
       llvm::make_filter_range(kernels.resources, spills))
    ValuedRemark(remark::missed(
        loc, remark::RemarkOpts::name("Spill").category("tenon-kernels")))
        << remark::add("kernel '{0}' spills {1} bytes a thread on {2}",
                       kernel.kernel, kernel.spilledBytes, kernel.target)
        << Reason(ReasonCode::FewRegisters);
}

static TargetResult compileFor(const TargetSpec &target, StringRef bitcode,
                               const Toolkit &toolkit,
                               const TemporaryFolder &folder) {
  TargetResult result;
  auto fail = [&](llvm::Error error) {
    result.error = llvm::toString(std::move(error));
    return result;
  };
  llvm::Expected<std::string> ptx = emitPtx(bitcode, target, toolkit.libdevice);
  if (!ptx)
    return fail(ptx.takeError());
  result.ptx = std::move(*ptx);
  auto assembled = assemble(toolkit, folder, target.name, result.ptx);
  if (!assembled)
    return fail(assembled.takeError());
  std::string relaxed = result.ptx;
  if (dropOccupancyHints(relaxed, assembled->second)) {
    // A kernel with setmaxnreg may not do without: then it spills.
    auto again = assemble(toolkit, folder, target.name, relaxed);
    if (again) {
      result.ptx = std::move(relaxed);
      *assembled = std::move(*again);
    } else {
      llvm::consumeError(again.takeError());
    }
  }
  std::tie(result.cubin, result.resources) = std::move(*assembled);
  return result;
}

static FailureOr<SmallVector<const TargetSpec *>>
lookupTargets(ModuleOp module, ArrayRef<std::string> names) {
  SmallVector<const TargetSpec *> targets;
  for (const std::string &name : names) {
    const TargetSpec *target = lookupTarget(name);
    if (!target)
      return emitError(module.getLoc())
             << "'" << name << "' is not a target; known are " << listTargets();
    if (!llvm::is_contained(targets, target))
      targets.push_back(target);
  }
  return targets;
}

/// Compiles for all targets at once and gathers what comes of it.
static llvm::Expected<CompiledKernels>
compileForAll(ArrayRef<const TargetSpec *> targets, StringRef bitcode) {
  llvm::Expected<Toolkit> toolkit = Toolkit::find();
  if (!toolkit)
    return toolkit.takeError();
  llvm::Expected<TemporaryFolder> folder = TemporaryFolder::create();
  if (!folder)
    return folder.takeError();
  std::vector<TargetResult> results(targets.size());
  std::vector<std::thread> threads;
  for (auto [target, result] : llvm::zip(targets, results))
    threads.emplace_back([&, target = target, &result = result] {
      result = compileFor(*target, bitcode, *toolkit, *folder);
    });
  for (std::thread &thread : threads)
    thread.join();

  CompiledKernels kernels;
  for (auto [target, result] : llvm::zip(targets, results)) {
    if (!result.error.empty())
      return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                     result.error);
    std::string name = target->name.str();
    kernels.ptx[name] = std::move(result.ptx);
    kernels.cubin[name] = std::move(result.cubin);
    llvm::append_range(kernels.resources, result.resources);
    if (target->portable &&
        (kernels.ptxTarget.empty() || name < kernels.ptxTarget))
      kernels.ptxTarget = name;
  }
  llvm::Expected<std::string> fatbin = createFatbin(*toolkit, *folder, kernels);
  if (!fatbin)
    return fatbin.takeError();
  kernels.fatbin = std::move(*fatbin);
  return kernels;
}

FailureOr<KernelCompilation>
KernelCompilation::begin(ModuleOp module, ArrayRef<std::string> names) {
  FailureOr<SmallVector<const TargetSpec *>> targets =
      lookupTargets(module, names);
  if (failed(targets))
    return failure();
  FailureOr<SmallString<0>> bitcode = createBitcode(module, *targets);
  if (failed(bitcode))
    return failure();
  initializePtx();
  KernelCompilation compilation(module.getLoc());
  if (!bitcode->empty() && !targets->empty())
    compilation.result =
        std::async(std::launch::async, [targets = std::move(*targets),
                                        bitcode = std::move(*bitcode)] {
          Result result;
          if (auto kernels = compileForAll(targets, bitcode))
            result.kernels = std::move(*kernels);
          else
            result.error = llvm::toString(kernels.takeError());
          return result;
        });
  return std::move(compilation);
}

FailureOr<CompiledKernels> KernelCompilation::finish() {
  if (!result.valid())
    return CompiledKernels();
  Result compiled = result.get();
  if (compiled.error)
    return emitError(loc) << *compiled.error;
  reportSpills(loc, compiled.kernels);
  return std::move(compiled.kernels);
}
