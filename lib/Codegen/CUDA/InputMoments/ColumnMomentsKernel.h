//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_INPUTMOMENTS_COLUMNMOMENTSKERNEL_H
#define TENON_LIB_CODEGEN_CUDA_INPUTMOMENTS_COLUMNMOMENTSKERNEL_H

#include "MomentsGeometry.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "tenon/Dialect/Tenon/IR/Tenon.h"

namespace mlir::tenon {

/// What the state says of each of w's rows. Takes x, w, the state and what it
/// writes: means, biased and unbiased variances.
LLVM::LLVMFuncOp emitColumnMomentsKernel(gpu::GPUModuleOp module,
                                         StringRef name, Location loc,
                                         const MomentsGeometry &geometry);

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_INPUTMOMENTS_COLUMNMOMENTSKERNEL_H
