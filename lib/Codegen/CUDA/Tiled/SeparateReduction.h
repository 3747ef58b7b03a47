//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tiled layer with a reduction as a product and what follows it.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_SEPARATEREDUCTION_H
#define TENON_LIB_CODEGEN_CUDA_TILED_SEPARATEREDUCTION_H

#include "tenon/Dialect/Tenon/IR/Tenon.h"

namespace mlir::tenon {

/// A layer in two ops, where one kernel cannot do all of it.
struct SeparateReduction {
  TiledLinearOp product; ///< gives what is reduced
  EpilogueOp rest;       ///< reduces it, and what follows
};

/// The type of a buffer for what the only reduction of `op` reduces, or where
/// it reduces rows for the product.
MemRefType getReducedType(TiledLinearOp op);

/// The type of a buffer for the moments of that which a kernel of two_phase
/// with this schedule leaves.
MemRefType getMomentsType(TiledLinearOp op);

/// Creates, at `builder`, ops on memrefs that do what `op` does, for pointers
/// that its kernel cannot take, or with a buffer for `moments` (else null) for
/// more rows than it can. `buffer` is between them.
SeparateReduction createSeparateReduction(OpBuilder &builder, TiledLinearOp op,
                                          Value buffer, Value moments);

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_SEPARATEREDUCTION_H
