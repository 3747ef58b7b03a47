//===- RestEpilogue.h - What a product leaves of a layer --------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_PRODUCTS_RESTEPILOGUE_H
#define TENON_LIB_CODEGEN_CUDA_PRODUCTS_RESTEPILOGUE_H

#include "tenon/Dialect/Tenon/IR/Tenon.h"

namespace mlir::tenon {

/// Erases operands that the layer's region does not use.
void eraseUnusedOperands(FusedLinearOp op);

/// Replaces `op` by what its region makes of `product`, which stands for the
/// region's first argument: a `tenon.epilogue`, in place where types allow.
void replaceByEpilogue(FusedLinearOp op, Value product, RewriterBase &rewriter);

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_PRODUCTS_RESTEPILOGUE_H
