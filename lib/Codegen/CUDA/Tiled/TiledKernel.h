//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A linear layer and its epilogue as one kernel.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_TILEDKERNEL_H
#define TENON_LIB_CODEGEN_CUDA_TILED_TILEDKERNEL_H

#include "TileGeometry.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace mlir::tenon {

/// The kernel of `op`, with the arguments that TiledFrame takes.
LLVM::LLVMFuncOp emitTiledKernel(gpu::GPUModuleOp module, StringRef name,
                                 TiledLinearOp op,
                                 const TileGeometry &geometry);

/// Replaces `op`, on memrefs, by the launch of its kernel, or of a simpler one
/// where a pointer is not aligned to 16 bytes. Appends the kernels' names to
/// `kernels`.
LogicalResult lowerTiledLinear(TiledLinearOp op, gpu::GPUModuleOp module,
                               SmallVectorImpl<Attribute> &kernels);

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_TILEDKERNEL_H
