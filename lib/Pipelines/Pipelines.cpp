//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The passes of each stage, and the named pipelines made of them.
//
//===----------------------------------------------------------------------===//

#include "tenon/Pipelines/Pipelines.h"

#include "tenon/Codegen/CPU/Passes.h"
#include "tenon/Codegen/CUDA/Passes.h"
#include "tenon/Codegen/Host/Passes.h"
#include "tenon/Schedule/Passes.h"
#include "tenon/Transforms/Passes.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

static void clean(OpPassManager &pm) {
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

void tenon::buildSimplifyStage(OpPassManager &pm, bool allowRoundingChanges,
                               bool foldWeights) {
  TenonSimplifyOptions options;
  options.allowRoundingChanges = allowRoundingChanges;
  options.foldWeights = foldWeights;
  clean(pm);
  pm.addPass(createTenonSimplify(options));
}

void tenon::buildFuseStage(OpPassManager &pm) {
  pm.addPass(createTenonFuseEpilogue());
  clean(pm);
}

void tenon::buildSchedulesStage(OpPassManager &pm,
                                ArrayRef<std::string> targets) {
  TenonListSchedulesOptions options;
  options.targets.assign(targets.begin(), targets.end());
  pm.addPass(createTenonListSchedules(options));
}

void tenon::buildStrategyStage(OpPassManager &pm,
                               const TenonSelectStrategyOptions &options) {
  pm.addPass(createTenonSelectStrategy(options));
  // What x is rounded or cast by joins the layer that computes it.
  if (options.targets.empty())
    return;
  pm.addPass(createTenonFuseEpilogue({/*remarkMissed=*/false}));
  clean(pm);
}

void tenon::buildPrepareStage(OpPassManager &pm) {
  pm.addPass(createTenonHoistPrepare());
}

void tenon::buildCPULinalgStage(OpPassManager &pm) {
  buildCPUTensorPipeline(pm);
}

void tenon::buildCPUBuffersStage(OpPassManager &pm) {
  pm.addPass(createTenonBufferize());
  clean(pm);
}

void tenon::buildCPUHostStage(OpPassManager &pm) {
  pm.addPass(createTenonHostAbi(TenonHostAbiOptions{"cpu"}));
  clean(pm);
  buildCPUBufferPipeline(pm);
}

/// From loops and buffers to the LLVM dialect. Kernels, most of the code, are
/// clean already, and lowered when they are compiled.
static void buildHostLLVM(OpPassManager &pm) {
  OpPassManager &functions = pm.nest<func::FuncOp>();
  functions.addPass(createSCFToControlFlowPass());
  functions.addPass(memref::createExpandStridedMetadataPass());
  functions.addPass(createLowerAffinePass());
  functions.addPass(arith::createArithExpandOpsPass()); // ceildivsi
  functions.addPass(createConvertVectorToLLVMPass());
  pm.addPass(tenon::createTenonHostToLLVM());
  OpPassManager &lowered = pm.nest<LLVM::LLVMFuncOp>();
  lowered.addPass(createReconcileUnrealizedCastsPass());
  clean(lowered);
}

void tenon::buildCPULLVMStage(OpPassManager &pm) { buildHostLLVM(pm); }

void tenon::buildCUDABlasLtStage(OpPassManager &pm) {
  pm.addPass(createTenonToTiled());
  pm.addPass(createTenonToBlasLt());
  clean(pm);
}

void tenon::buildCUDABuffersStage(OpPassManager &pm) {
  pm.addPass(createTenonBufferize());
  clean(pm);
}

void tenon::buildCUDAKernelsStage(OpPassManager &pm) {
  pm.addPass(createTenonEmitKernels());
  buildCleanKernels(pm);
}

void tenon::buildCUDAHostStage(OpPassManager &pm) {
  pm.addPass(createTenonHostAbi(TenonHostAbiOptions{"cuda"}));
  // Kernels, most of the code, are clean already.
  clean(pm.nest<func::FuncOp>());
}

void tenon::buildCUDALLVMStage(OpPassManager &pm) { buildHostLLVM(pm); }

static void buildTensorPipeline(OpPassManager &pm) {
  tenon::buildSimplifyStage(pm);
  tenon::buildFuseStage(pm);
  tenon::buildPrepareStage(pm);
}

static void buildCPUPipeline(OpPassManager &pm) {
  buildTensorPipeline(pm);
  tenon::buildCPULinalgStage(pm);
  tenon::buildCPUBuffersStage(pm);
  tenon::buildCPUHostStage(pm);
  tenon::buildCPULLVMStage(pm);
}

namespace {
struct CUDAPipelineOptions : PassPipelineOptions<CUDAPipelineOptions> {
  ListOption<std::string> targets{
      *this, "targets",
      llvm::cl::desc("GPU architectures to choose strategies for, as "
                     "sm_80,sm_90a; none: layers on which no strategy is "
                     "written go to the library")};
#define TENON_STRATEGY(NAME, FLAG, DEFAULT, VALUES, HELP)                      \
  Option<std::string> NAME{*this, FLAG, llvm::cl::desc(HELP),                  \
                           llvm::cl::init(DEFAULT)};
#include "tenon-c/CompileOptions.def"
};
} // namespace

static void buildCUDAPipeline(OpPassManager &pm,
                              const CUDAPipelineOptions &options) {
  tenon::buildSimplifyStage(pm);
  tenon::buildFuseStage(pm);
  tenon::TenonSelectStrategyOptions given;
  given.targets = llvm::to_vector(options.targets);
#define TENON_STRATEGY(NAME, FLAG, DEFAULT, VALUES, HELP)                      \
  given.NAME = options.NAME;
#include "tenon-c/CompileOptions.def"
  tenon::buildStrategyStage(pm, given);
  tenon::buildPrepareStage(pm);
  tenon::buildCUDABlasLtStage(pm);
  tenon::buildCUDABuffersStage(pm);
  tenon::buildCUDAKernelsStage(pm);
  tenon::buildCUDAHostStage(pm);
  tenon::buildCUDALLVMStage(pm);
}

void tenon::registerPipelines() {
  static PassPipelineRegistration<> raisePipeline(
      "tenon-raise-pipeline",
      "Linalg and TOSA to tenon ops: what tenon-compile does ahead of the rest",
      buildRaiseStage);
  static PassPipelineRegistration<> tensorPipeline(
      "tenon-tensor-pipeline",
      "Simplify, fuse and hoist: tenon ops to tenon ops, for any target",
      buildTensorPipeline);
  static PassPipelineRegistration<> cpuPipeline(
      "tenon-cpu-pipeline", "Tenon ops to the LLVM dialect, for the CPU",
      buildCPUPipeline);
  static PassPipelineRegistration<CUDAPipelineOptions> cudaPipeline(
      "tenon-cuda-pipeline",
      "Tenon ops to kernels and host code in the LLVM dialect, for the GPU",
      buildCUDAPipeline);
  static PassPipelineRegistration<> cleanKernels(
      "tenon-clean-kernels", "Simplify kernels and what launches them",
      buildCleanKernels);
}
