//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tiled layer of two weights as two layers of one.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_SEPARATEPRODUCTS_H
#define TENON_LIB_CODEGEN_CUDA_TILED_SEPARATEPRODUCTS_H

#include "tenon/Dialect/Tenon/IR/Tenon.h"

namespace mlir::tenon {

/// Layers that do one after the other what one of two weights does.
struct SeparateProducts {
  TiledLinearOp first; ///< gives the second weight's product
  TiledLinearOp rest;  ///< reads it, as one more [M, N] input
};

/// The type of a buffer for the second weight's product.
MemRefType getSecondProductType(TiledLinearOp op);

/// Creates, at `builder`, ops on memrefs that do what `op` does, for pointers
/// that its kernel cannot take. `buffer` is between them.
SeparateProducts createSeparateProducts(OpBuilder &builder, TiledLinearOp op,
                                        Value buffer);

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_SEPARATEPRODUCTS_H
