//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What ends a row of a split: its factor, and the count of rows outside.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_SPLIT_SPLITFACTOR_H
#define TENON_LIB_CODEGEN_CUDA_SPLIT_SPLITFACTOR_H

#include "Codegen/CUDA/Emit/KernelBuilder.h"

#include "tenon/Dialect/Tenon/IR/SplitArithmetic.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace mlir::tenon {

/// The u64 that counts rows outside of what their parts can hold, over all
/// launches of all kernels of `module`. The runtime reads it by its name.
LLVM::GlobalOp getRowsOutsideCounter(OpBuilder &builder,
                                     gpu::GPUModuleOp module);

/// Stores the factor of `row` (i64), of which one thread knows the largest
/// magnitude's bits and the sum of all scores; counts the row if it is outside.
void emitSplitFactor(KernelBuilder &b, LLVM::GlobalOp counter, Value factors,
                     Value row, const SplitScale &scale, Value largest,
                     Value score, unsigned parts);

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_SPLIT_SPLITFACTOR_H
