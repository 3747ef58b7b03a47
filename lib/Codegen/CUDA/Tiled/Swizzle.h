//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where chunks of 16 bytes lie in rows of shared memory.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_SWIZZLE_H
#define TENON_LIB_CODEGEN_CUDA_TILED_SWIZZLE_H

#include "Codegen/CUDA/Emit/KernelBuilder.h"

namespace mlir::tenon {

/// Chunk c of row `row` lies at c ^ getSwizzle(row): TMA's permutation of every
/// 128 bytes, for rows of `rowBytes`, 32, 64 or 128.
inline Value getSwizzle(KernelBuilder &b, int64_t rowBytes, Value row) {
  if (rowBytes != 128)
    row = b.shiftRight(row, llvm::Log2_64(128 / rowBytes));
  return b.bitAnd(row, rowBytes / 16 - 1);
}

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_SWIZZLE_H
