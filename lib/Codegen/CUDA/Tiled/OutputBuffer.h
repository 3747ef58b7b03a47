//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where kernels that do a layer's work in several steps keep a matrix.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_OUTPUTBUFFER_H
#define TENON_LIB_CODEGEN_CUDA_TILED_OUTPUTBUFFER_H

#include "tenon/Dialect/Tenon/IR/Tenon.h"

namespace mlir::tenon {

/// An output of `op` that can hold a matrix of `type` until it is written; null
/// if there is none, or an input may be the same buffer.
Value findOutputBuffer(TiledLinearOp op, MemRefType type);

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_OUTPUTBUFFER_H
