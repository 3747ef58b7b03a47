//===- ElementwiseToEpilogue.h - Ops that no product takes -----*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_PRODUCTS_ELEMENTWISETOEPILOGUE_H
#define TENON_LIB_CODEGEN_CUDA_PRODUCTS_ELEMENTWISETOEPILOGUE_H

#include "mlir/IR/Block.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace mlir::tenon {

/// A new tensor of `type`. A dynamic M is that of one of `sources`.
Value createEmpty(OpBuilder &builder, Location loc, RankedTensorType type,
                  ValueRange sources);

/// A tensor of `bytes` i8 at the start of `function`, in which kernels may
/// leave anything.
Value createWorkspace(OpBuilder &builder, FunctionOpInterface function,
                      int64_t bytes);

/// Puts what is left of elementwise ops, reductions and constants in `block`
/// into `tenon.epilogue` ops. Fails, with a message, on a constant that is not
/// a splat.
LogicalResult wrapElementwise(Block &block, RewriterBase &rewriter);

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_PRODUCTS_ELEMENTWISETOEPILOGUE_H
