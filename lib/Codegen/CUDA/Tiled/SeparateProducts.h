//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tiled layer of several products as layers of one.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_SEPARATEPRODUCTS_H
#define TENON_LIB_CODEGEN_CUDA_TILED_SEPARATEPRODUCTS_H

#include "tenon/Dialect/Tenon/IR/Tenon.h"

namespace mlir::tenon {

/// The type of a buffer for the products of further weights or terms.
MemRefType getFurtherProductType(TiledLinearOp op);

/// Creates, at `builder`, ops on memrefs that do one after the other what `op`
/// does, for pointers that its kernel cannot take. `buffer` is between them.
SmallVector<TiledLinearOp>
createSeparateProducts(OpBuilder &builder, TiledLinearOp op, Value buffer);

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_SEPARATEPRODUCTS_H
