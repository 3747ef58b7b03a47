//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels of one tiled layer, and their launches.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_TILEDLAUNCH_H
#define TENON_LIB_CODEGEN_CUDA_TILED_TILEDLAUNCH_H

#include "Codegen/CUDA/Emit/RowPhases.h"
#include "MergedKernel.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::tenon {

/// Emits kernels of a layer to `module`, and where `b` is, launches of them.
class TiledLaunch {
public:
  TiledLaunch(TiledLinearOp op, gpu::GPUModuleOp module,
              SmallVectorImpl<Attribute> &kernels,
              ArrayRef<RowPhase> rowPhases = {})
      : b(op.getLoc(), op), op(op), module(module), kernels(kernels),
        rowPhases(rowPhases) {}

  /// The product's rows, which `m` has to be before anything is launched.
  Value createRows();

  LLVM::LLVMFuncOp emitKernel(const TileGeometry &geometry);
  KernelArguments getArguments(const TileGeometry &geometry);
  Value createWork(const TileGeometry &geometry, int64_t columnUnits);
  LaunchOp createLaunch(const TileGeometry &geometry, LLVM::LLVMFuncOp kernel,
                        Value work, const KernelArguments &arguments);
  /// By as many blocks as are resident at once.
  void launch(const TileGeometry &geometry, LLVM::LLVMFuncOp kernel);

  ImplicitLocOpBuilder b;
  Value m;

protected:
  TiledLinearOp op;
  gpu::GPUModuleOp module;
  SmallVectorImpl<Attribute> &kernels;
  ArrayRef<RowPhase> rowPhases;
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_TILEDLAUNCH_H
