//===- EpilogueKernels.h - The kernels of an epilogue ----------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_EPILOGUE_EPILOGUEKERNELS_H
#define TENON_LIB_CODEGEN_CUDA_EPILOGUE_EPILOGUEKERNELS_H

#include "KernelFrame.h"

namespace mlir::tenon {

/// Whether an epilogue has results of rows, and not of columns alone.
bool storesRows(EpilogueOp op);

/// The kernel of the last phase: computes the region's results and stores them.
LLVM::LLVMFuncOp emitMapKernel(gpu::GPUModuleOp module, StringRef name,
                               EpilogueOp op, const EpiloguePhase &phase,
                               const KernelGeometry &geometry);

/// The kernel of a phase that ends in a reduction over rows: leaves a state for
/// each group and column, [groups, state size, N].
LLVM::LLVMFuncOp emitReductionKernel(gpu::GPUModuleOp module, StringRef name,
                                     EpilogueOp op, const EpiloguePhase &phase,
                                     const KernelGeometry &geometry);

/// Replaces `op`, on memrefs, by launches of its kernels, which come into
/// `module`; their names are added to `kernels`.
LogicalResult lowerEpilogue(EpilogueOp op, gpu::GPUModuleOp module,
                            SmallVectorImpl<Attribute> &kernels);

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_EPILOGUE_EPILOGUEKERNELS_H
