//===- SplitOperands.h - Matrices with their split beside them -*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_PRODUCTS_SPLITOPERANDS_H
#define TENON_LIB_CODEGEN_CUDA_PRODUCTS_SPLITOPERANDS_H

#include "tenon/Dialect/Tenon/IR/Tenon.h"

namespace mlir::tenon {

/// The matrix itself, of one that may have its split beside it.
Value lookThroughSplit(Value operand);

/// The halves and factors of a matrix `[R, K]` of f32, or of the transpose of
/// one: those beside it (`tenon.with_split`), or new ones (`tenon.split`).
std::pair<Value, Value> getSplit(Value operand, bool transposed, unsigned parts,
                                 Location loc, OpBuilder &builder);

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_PRODUCTS_SPLITOPERANDS_H
