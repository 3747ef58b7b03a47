//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_EPILOGUE_REDUCTIONKERNEL_H
#define TENON_LIB_CODEGEN_CUDA_EPILOGUE_REDUCTIONKERNEL_H

#include "KernelFrame.h"

namespace mlir::tenon {

/// The kernel of a phase that ends in a reduction over rows: leaves a state for
/// each group and column, [groups, state size, N].
LLVM::LLVMFuncOp emitReductionKernel(gpu::GPUModuleOp module, StringRef name,
                                     EpilogueOp op, const EpiloguePhase &phase,
                                     const KernelGeometry &geometry);

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_EPILOGUE_REDUCTIONKERNEL_H
