//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bytes whose blocks have scales, as f32.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_SPLIT_LAUNCHSCALEBLOCKS_H
#define TENON_LIB_CODEGEN_CUDA_SPLIT_LAUNCHSCALEBLOCKS_H

#include "tenon/Dialect/Tenon/IR/Tenon.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace mlir::tenon {

/// Replaces the op, on memrefs, by a kernel for aligned pointers, one for
/// others, and their launches.
LogicalResult lowerScaleBlocks(ScaleBlocksOp op, gpu::GPUModuleOp module,
                               SmallVectorImpl<Attribute> &kernels);

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_SPLIT_LAUNCHSCALEBLOCKS_H
