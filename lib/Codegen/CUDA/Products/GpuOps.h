//===- GpuOps.h - Ops that GPUs compute -------------------------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which ops a function for the GPU may have.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_PRODUCTS_GPUOPS_H
#define TENON_LIB_CODEGEN_CUDA_PRODUCTS_GPUOPS_H

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace mlir::tenon {

/// Fails, with a message, on an op of `function` that no kernel and no call of
/// the runtime computes. What can be an epilogue is one already.
LogicalResult checkGpuOps(FunctionOpInterface function);

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_PRODUCTS_GPUOPS_H
