//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs the stages of a compilation, and assembles a model of what they give.
//
//===----------------------------------------------------------------------===//

#include "tenon/Pipelines/Compiler.h"

#include "tenon/Codegen/Host/ModelImage.h"
#include "tenon/Codegen/Host/PackParameters.h"
#include "tenon/Codegen/Host/Passes.h"
#include "tenon/Dialect/Tenon/IR/Tenon.h"
#include "tenon/Pipelines/Pipelines.h"
#include "tenon/Schedule/Passes.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/Linker/Linker.h"

using namespace mlir;
using namespace mlir::tenon;

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

namespace {
/// Whose code a stage is about; Foreign: what other dialects' ops are taken by;
/// Tuning: what might be made.
enum class Device { Foreign, Any, Tuning, CPU, CUDA };

struct StageImpl {
  Stage stage;
  Device device;
  void (*build)(OpPassManager &, const CompileOptions &);
};
} // namespace

static void simplify(OpPassManager &pm, const CompileOptions &options) {
  buildSimplifyStage(pm, options.allowRoundingChanges, options.foldWeights);
}

static void selectStrategy(OpPassManager &pm, const CompileOptions &options) {
  TenonSelectStrategyOptions given;
  given.targets.assign(options.cudaTargets.begin(), options.cudaTargets.end());
#define TENON_STRATEGY(NAME, FLAG, DEFAULT, VALUES, HELP)                      \
  given.NAME = options.NAME;
#include "tenon-c/CompileOptions.def"
  buildStrategyStage(pm, given);
}

static void listSchedules(OpPassManager &pm, const CompileOptions &options) {
  buildSchedulesStage(pm, options.cudaTargets);
}

/// A stage that has no options.
template <void (*buildStage)(OpPassManager &)>
static void plain(OpPassManager &pm, const CompileOptions & /*options*/) {
  buildStage(pm);
}

/// The stage behind which schedules are listed, and the one that makes kernels,
/// after which they are compiled.
static constexpr StringLiteral kFuseStage = "fuse",
                               kKernelsStage = "cuda-kernels";

static const StageImpl kStages[] = {
    {{"raise", "linalg and TOSA, where there are any, as tenon ops"},
     Device::Foreign,
     plain<buildRaiseStage>},
    {{"simplify", "exact algebra on tenon ops"}, Device::Any, simplify},
    {{kFuseStage, "linear layers fused with what follows"},
     Device::Any,
     plain<buildFuseStage>},
    {{"schedules", "no code: the schedules worth measuring for each layer"},
     Device::Tuning,
     listSchedules},
    {{"strategy", "how each linear layer is computed on the GPU targets"},
     Device::Any,
     selectStrategy},
    {{"prepare", "what depends on parameters alone, hoisted"},
     Device::Any,
     plain<buildPrepareStage>},
    {{"cpu-linalg", "linalg on tensors"},
     Device::CPU,
     plain<buildCPULinalgStage>},
    {{"cpu-buffers", "linalg on buffers"},
     Device::CPU,
     plain<buildCPUBuffersStage>},
    {{"cpu-host", "loops, vectors and runtime entries"},
     Device::CPU,
     plain<buildCPUHostStage>},
    {{"cpu-llvm", "LLVM dialect"}, Device::CPU, plain<buildCPULLVMStage>},
    {{"cuda-blaslt", "tiled kernels, cuBLASLt products and epilogues"},
     Device::CUDA,
     plain<buildCUDABlasLtStage>},
    {{"cuda-buffers", "the same on buffers"},
     Device::CUDA,
     plain<buildCUDABuffersStage>},
    {{kKernelsStage, "GPU kernels and their launches"},
     Device::CUDA,
     plain<buildCUDAKernelsStage>},
    {{"cuda-host", "runtime entries"}, Device::CUDA, plain<buildCUDAHostStage>},
    {{"cuda-llvm", "LLVM dialect, kernels in a gpu.module"},
     Device::CUDA,
     plain<buildCUDALLVMStage>},
};

ArrayRef<Stage> tenon::getStages() {
  static const SmallVector<Stage> stages = llvm::map_to_vector(
      kStages, [](const StageImpl &impl) { return impl.stage; });
  return stages;
}

/// Runs the stages for `device` behind the one named `after`, up to and
/// including the one named `last`; "": from the first, to the last.
static LogicalResult runStages(ModuleOp module, Device device,
                               const CompileOptions &options,
                               TimingScope &timing, StringRef after = "",
                               StringRef last = "") {
  PassManager pm(module.getContext());
  pm.enableTiming(timing);
  bool isReached = after.empty();
  for (const StageImpl &impl : kStages) {
    if (impl.device != device)
      continue;
    if (isReached)
      impl.build(pm, options);
    isReached |= impl.stage.name == after;
    if (impl.stage.name == last)
      break;
  }
  return pm.run(module);
}

/// Takes what is not of tenon ops, if anything is.
static LogicalResult raise(ModuleOp module, const CompileOptions &options,
                           TimingScope &timing) {
  if (!needsRaising(module))
    return success();
  TimingScope part = timing.nest("Raising");
  return runStages(module, Device::Foreign, options, part);
}

LogicalResult tenon::runUntil(ModuleOp module, StringRef stage,
                              const CompileOptions &options) {
  const StageImpl *impl = llvm::find_if(
      kStages, [&](const StageImpl &s) { return s.stage.name == stage; });
  if (impl == std::end(kStages))
    return module.emitError() << "no stage is named '" << stage << "'";
  TimingScope none;
  if (failed(raise(module, options, none)))
    return failure();
  if (impl->device == Device::Foreign)
    return success();
  if (impl->device == Device::Any)
    return runStages(module, Device::Any, options, none, /*after=*/"", stage);
  StringRef last = impl->device == Device::Tuning ? kFuseStage : "";
  if (failed(runStages(module, Device::Any, options, none, /*after=*/"", last)))
    return failure();
  return runStages(module, impl->device, options, none, /*after=*/"", stage);
}

//===----------------------------------------------------------------------===//
// Models
//===----------------------------------------------------------------------===//

namespace {
class ModelCompilation {
public:
  ModelCompilation(const CompileOptions &options, TimingScope &timing)
      : options(options), timing(timing) {
    model.context = std::make_unique<llvm::LLVMContext>();
    model.description.name = options.name;
    model.description.cpu =
        options.host == kAArch64 ? options.host : options.cpu;
    model.description.cuda = options.cudaTargets;
  }

  FailureOr<CompiledModel> run(ModuleOp source);

private:
  LogicalResult addFunctions(ModuleOp module);
  FailureOr<OwningOpRef<ModuleOp>> makeReference(ModuleOp source);
  LogicalResult compileCPU(ModuleOp module);
  LogicalResult beginKernels(ModuleOp module);
  LogicalResult compileCUDAHost();
  LogicalResult finishKernels();
  FailureOr<std::string> pack(ModuleOp source);
  LogicalResult addCode(ModuleOp module);

  const CompileOptions &options;
  TimingScope &timing;
  CompiledModel model;
  OwningOpRef<ModuleOp> cuda; ///< none without CUDA targets
  std::optional<KernelCompilation> kernels;
};
} // namespace

LogicalResult ModelCompilation::addFunctions(ModuleOp module) {
  auto functions = describeFunctions(module);
  if (failed(functions))
    return failure();
  llvm::append_range(model.description.functions, *functions);
  return success();
}

/// Translates `module`, in the LLVM dialect, and adds it to the model's code.
LogicalResult ModelCompilation::addCode(ModuleOp module) {
  std::unique_ptr<llvm::Module> code =
      translateModuleToLLVMIR(module, *model.context, options.name);
  if (!code)
    return failure();
  if (!model.module) {
    model.module = std::move(code);
    return success();
  }
  if (llvm::Linker::linkModules(*model.module, std::move(code)))
    return module.emitError("code for two devices does not link; this is a bug "
                            "in Tenon");
  return success();
}

/// The functions that `tenon-run --check` compares with; none unless asked for.
FailureOr<OwningOpRef<ModuleOp>>
ModelCompilation::makeReference(ModuleOp source) {
  OwningOpRef<ModuleOp> module;
  if (!options.reference)
    return module;
  TimingScope part = timing.nest("Reference");
  module = source.clone();
  PassManager pm(module->getContext());
  // Rounding that is asked for is within no bound.
  pm.addPass(createTenonReference(
      {!options.allowRoundingChanges && !options.foldWeights}));
  if (failed(pm.run(*module)) || failed(addFunctions(*module)))
    return failure();
  auto entry = model.description.entries.begin();
  for (auto function : module->getOps<func::FuncOp>())
    if (function.isPrivate())
      continue;
    else if (function->removeAttr(TenonDialect::kBoundsAttr))
      std::prev(entry)->bounds = function.getName().str();
    else
      (entry++)->reference = function.getName().str();
  return module;
}

LogicalResult ModelCompilation::compileCPU(ModuleOp module) {
  TimingScope part = timing.nest("CPU code");
  OwningOpRef<ModuleOp> clone = module.clone();
  return failure(failed(runStages(*clone, Device::CPU, options, part)) ||
                 failed(addCode(*clone)));
}

LogicalResult ModelCompilation::beginKernels(ModuleOp module) {
  TimingScope part = timing.nest("Kernels");
  cuda = module.clone();
  if (failed(runStages(*cuda, Device::CUDA, options, part, /*after=*/"",
                       kKernelsStage)))
    return failure();
  auto begun = KernelCompilation::begin(*cuda, options.cudaTargets);
  if (failed(begun))
    return failure();
  kernels = std::move(*begun);
  return success();
}

LogicalResult ModelCompilation::compileCUDAHost() {
  TimingScope part = timing.nest("Launches of kernels");
  if (failed(runStages(*cuda, Device::CUDA, options, part, kKernelsStage)))
    return failure();
  if (auto names =
          (*cuda)->getAttrOfType<ArrayAttr>(TenonDialect::kKernelsAttr))
    for (auto name : names.getAsRange<StringAttr>())
      model.description.kernels.push_back(name.str());
  for (auto gpuModule :
       llvm::make_early_inc_range(cuda->getOps<gpu::GPUModuleOp>()))
    gpuModule.erase();
  return addCode(*cuda);
}

LogicalResult ModelCompilation::finishKernels() {
  TimingScope part = timing.nest("Waiting for LLVM and ptxas on kernels");
  auto finished = kernels->finish();
  if (failed(finished))
    return failure();
  model.kernels = std::move(*finished);
  model.description.ptx = model.kernels.ptxTarget;
  return success();
}

/// Packs the parameters into the description; gives their values.
FailureOr<std::string> ModelCompilation::pack(ModuleOp source) {
  if (options.parameters.empty())
    return std::string();
  auto file = SafeTensors::open(options.parameters, options.parametersPrefix);
  auto values =
      file ? packParameters(model.description, *file, options.castParameters)
           : llvm::Expected<std::string>(file.takeError());
  if (!values)
    return source.emitError() << llvm::toString(values.takeError());
  return std::move(*values);
}

/// Kernels take longest: what may be wrong comes before them, and the rest is
/// compiled beside them.
FailureOr<CompiledModel> ModelCompilation::run(ModuleOp source) {
  OwningOpRef<ModuleOp> module = source.clone();
  auto signatures = describeFunctions(*module);
  if (failed(signatures))
    return failure();
  TimingScope layers = timing.nest("Layers");
  if (failed(runStages(*module, Device::Any, options, layers)))
    return failure();
  layers.stop();
  model.description.entries = describeEntries(source, *signatures, *module);
  if (!options.parameters.empty())
    nameRunFunctions(*module, model.description.entries);
  if (failed(addFunctions(*module)))
    return failure();
  auto reference = makeReference(source);
  if (failed(reference))
    return failure();
  auto parameters = pack(source);
  if (failed(parameters) ||
      (!options.cudaTargets.empty() && failed(beginKernels(*module))) ||
      failed(compileCPU(*module)) || (kernels && failed(compileCUDAHost())) ||
      (*reference && failed(compileCPU(**reference))))
    return failure();
  TimingScope host = timing.nest("LLVM on host code");
  if (failed(optimizeHostCode(*model.module, model.description.cpu)))
    return source.emitError(
        "this build of LLVM has no back end for the host's architecture");
  host.stop();
  if (kernels && failed(finishKernels()))
    return failure();
  addModelImage(*model.module, model.description, model.kernels.fatbin,
                *parameters);
  return std::move(model);
}

FailureOr<CompiledModel> tenon::compileModel(ModuleOp source,
                                             const CompileOptions &options,
                                             TimingScope &timing) {
  initializeBackEnds();
  // What parts a function is divided into keep its arguments' names.
  OwningOpRef<ModuleOp> named = source.clone();
  nameInputs(*named);
  if (failed(raise(*named, options, timing)))
    return failure();
  return ModelCompilation(options, timing).run(*named);
}

FailureOr<CompiledModel> tenon::compileModel(ModuleOp source,
                                             const CompileOptions &options) {
  TimingScope none;
  return compileModel(source, options, none);
}
