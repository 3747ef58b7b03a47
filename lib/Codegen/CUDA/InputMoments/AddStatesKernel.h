//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_INPUTMOMENTS_ADDSTATESKERNEL_H
#define TENON_LIB_CODEGEN_CUDA_INPUTMOMENTS_ADDSTATESKERNEL_H

#include "MomentsGeometry.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "tenon/Dialect/Tenon/IR/Tenon.h"

namespace mlir::tenon {

/// Adds the groups' states. Takes the states and where the sum goes.
LLVM::LLVMFuncOp emitAddStatesKernel(gpu::GPUModuleOp module, StringRef name,
                                     Location loc,
                                     const MomentsGeometry &geometry);

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_INPUTMOMENTS_ADDSTATESKERNEL_H
