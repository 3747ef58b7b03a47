//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_EPILOGUE_LAUNCHEPILOGUE_H
#define TENON_LIB_CODEGEN_CUDA_EPILOGUE_LAUNCHEPILOGUE_H

#include "KernelFrame.h"

namespace mlir::tenon {

/// Replaces `op`, on memrefs, by launches of its kernels, which come into
/// `module`; their names are added to `kernels`.
LogicalResult lowerEpilogue(EpilogueOp op, gpu::GPUModuleOp module,
                            SmallVectorImpl<Attribute> &kernels);

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_EPILOGUE_LAUNCHEPILOGUE_H
