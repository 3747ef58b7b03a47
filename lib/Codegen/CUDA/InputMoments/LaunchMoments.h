//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_INPUTMOMENTS_LAUNCHMOMENTS_H
#define TENON_LIB_CODEGEN_CUDA_INPUTMOMENTS_LAUNCHMOMENTS_H

#include "MomentsGeometry.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "tenon/Dialect/Tenon/IR/Tenon.h"

namespace mlir::tenon {

/// Replaces an op on memrefs by its kernels and their launches.
LogicalResult lowerProductMoments(ProductMomentsOp op, gpu::GPUModuleOp module,
                                  SmallVectorImpl<Attribute> &kernels);

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_INPUTMOMENTS_LAUNCHMOMENTS_H
