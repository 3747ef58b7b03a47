//===- InputMoments.h - Moments of a product before it is ------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kernels of tenon.product_moments. All take M and the number of groups,
// both i64, after their pointers.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_INPUTMOMENTS_INPUTMOMENTS_H
#define TENON_LIB_CODEGEN_CUDA_INPUTMOMENTS_INPUTMOMENTS_H

#include "MomentsGeometry.h"

#include "tenon/Dialect/Tenon/IR/Tenon.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace mlir::tenon {

/// Sums what x's rows are more than its first, and the outer products of that.
/// Takes x and the states, of which each group writes one.
LLVM::LLVMFuncOp emitGramKernel(gpu::GPUModuleOp module, StringRef name,
                                Location loc, const MomentsGeometry &geometry);

/// Adds the groups' states. Takes the states and where the sum goes.
LLVM::LLVMFuncOp emitAddStatesKernel(gpu::GPUModuleOp module, StringRef name,
                                     Location loc,
                                     const MomentsGeometry &geometry);

/// What the state says of each of w's rows. Takes x, w, the state and what it
/// writes: means, biased and unbiased variances.
LLVM::LLVMFuncOp emitColumnMomentsKernel(gpu::GPUModuleOp module,
                                         StringRef name, Location loc,
                                         const MomentsGeometry &geometry);

/// Replaces an op on memrefs by its kernels and their launches.
LogicalResult lowerProductMoments(ProductMomentsOp op, gpu::GPUModuleOp module,
                                  SmallVectorImpl<Attribute> &kernels);

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_INPUTMOMENTS_INPUTMOMENTS_H
