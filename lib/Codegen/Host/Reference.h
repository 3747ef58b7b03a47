//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_HOST_REFERENCE_H
#define TENON_LIB_CODEGEN_HOST_REFERENCE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::tenon {

/// `type` with f64 elements, if it is a tensor of floats.
Type widenType(Type type);

/// Whether `op` rounds tensors: in exact arithmetic it changes nothing.
bool isRounding(Operation *op);

/// Makes `op`, whose operands are widened, compute in f64.
void widenOp(Operation *op);

/// Adds to the body of `target`, an empty function of the arguments of
/// `source`, what computes for each result of `source` how far off it may be,
/// element by element, and returns that. Fails where an op of `source` has no
/// known bound; then `target` is to be erased.
LogicalResult buildBounds(func::FuncOp source, func::FuncOp target);

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_HOST_REFERENCE_H
