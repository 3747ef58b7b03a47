//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_EPILOGUE_MAPKERNEL_H
#define TENON_LIB_CODEGEN_CUDA_EPILOGUE_MAPKERNEL_H

#include "KernelFrame.h"

namespace mlir::tenon {

/// Whether an epilogue has results of rows, and not of columns alone.
bool storesRows(EpilogueOp op);

/// Whether all that is left to an epilogue is to add up sums of parts. Then its
/// kernel is one of few columns a block, of which many threads share the parts,
/// and each sum has a group of blocks, so that all are added up at once.
bool addsSumsAlone(EpilogueOp op);

/// The kernel of the last phase: computes the region's results and stores them.
LLVM::LLVMFuncOp emitMapKernel(gpu::GPUModuleOp module, StringRef name,
                               EpilogueOp op, const EpiloguePhase &phase,
                               const KernelGeometry &geometry);

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_EPILOGUE_MAPKERNEL_H
