//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The passes of each stage, in order.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_PIPELINES_PIPELINES_H
#define TENON_PIPELINES_PIPELINES_H

#include "mlir/Support/LLVM.h"

namespace mlir {
class ModuleOp;
class OpPassManager;
} // namespace mlir

namespace mlir::tenon {

struct TenonSelectStrategyOptions;

/// Ops of linalg and TOSA as tenon ops, where a module has any.
bool needsRaising(ModuleOp module);
void buildRaiseStage(OpPassManager &pm);

/// Tensor ops: simplify, fuse, choose strategies, hoist. Without targets, no
/// strategy is chosen.
void buildSimplifyStage(OpPassManager &pm, bool allowRoundingChanges = false,
                        bool foldWeights = false);
void buildFuseStage(OpPassManager &pm);
void buildStrategyStage(OpPassManager &pm,
                        const TenonSelectStrategyOptions &options);
void buildPrepareStage(OpPassManager &pm);

/// Behind fused ops, in place of a choice: all schedules to choose from.
void buildSchedulesStage(OpPassManager &pm, ArrayRef<std::string> targets);

/// CPU: tensor ops to linalg, to buffers, to entries, to the LLVM dialect.
void buildCPULinalgStage(OpPassManager &pm);
void buildCPUBuffersStage(OpPassManager &pm);
void buildCPUHostStage(OpPassManager &pm);
void buildCPULLVMStage(OpPassManager &pm);

/// CUDA: tensor ops to tiled kernels, cuBLASLt and epilogues, to buffers, to
/// kernels, to entries, to the LLVM dialect; the kernels stay in a gpu.module.
void buildCUDABlasLtStage(OpPassManager &pm);
void buildCUDABuffersStage(OpPassManager &pm);
void buildCUDAKernelsStage(OpPassManager &pm);
void buildCUDAHostStage(OpPassManager &pm);
void buildCUDALLVMStage(OpPassManager &pm);

/// Registers `--tenon-raise-pipeline`, and `--tenon-tensor-pipeline`,
/// `--tenon-cpu-pipeline` and `--tenon-cuda-pipeline`, each from tenon ops on.
/// The last takes the targets, strategy and schedule as options.
/// `--tenon-clean-kernels` is what kernels go through once they are emitted.
void registerPipelines();

} // namespace mlir::tenon

#endif // TENON_PIPELINES_PIPELINES_H
