//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// States of blocks of rows, combined to fewer.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_EPILOGUE_COMBINEMOMENTS_H
#define TENON_LIB_CODEGEN_CUDA_EPILOGUE_COMBINEMOMENTS_H

#include "KernelFrame.h"

namespace mlir::tenon {

/// Moments of a column that each block's head combines at most. Where there are
/// more, a kernel before combines them to at most `kCombinedStates`: every
/// block that shares a column reads all its states.
inline constexpr int64_t kMaxHeadStates = 32;
inline constexpr int64_t kCombinedStates = 8;

/// Whether `reduction` has moments, and they are or, with a dynamic M, may be
/// more than that. Then they are combined, however many they are; but for sums
/// with nothing else behind them.
bool combinesMoments(ReductionEpilogueOp reduction);

/// Rows of each of the states to which they are combined.
Value emitCombinedRows(ImplicitLocOpBuilder &b, ReductionEpilogueOp reduction,
                       Value m);

/// The kernel that combines them. Its arguments are the moments, the states
/// that it leaves, [kCombinedStates, stored size, N], M and the groups of
/// blocks, kCombinedStates.
LLVM::LLVMFuncOp emitCombineKernel(gpu::GPUModuleOp module, StringRef name,
                                   ReductionEpilogueOp reduction,
                                   const KernelGeometry &geometry);
/// Its threads and columns, of moments of N columns.
KernelGeometry getCombineGeometry(int64_t n);

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_EPILOGUE_COMBINEMOMENTS_H
