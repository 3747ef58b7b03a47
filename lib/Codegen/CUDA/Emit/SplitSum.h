//===- SplitSum.h - A sum and what rounding left of it ---------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_EMIT_SPLITSUM_H
#define TENON_LIB_CODEGEN_CUDA_EMIT_SPLITSUM_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::tenon {

/// A mean that is known by its distance from an origin, in two words: rounded,
/// and what that left of it.
struct SplitSum {
  Value rounded, rest;
};

/// Fast2Sum: exact unless the distance is larger than the origin, and then as
/// exact as the distance is.
inline SplitSum emitSplitSum(ImplicitLocOpBuilder &b, Value origin,
                             Value distance) {
  Value rounded = arith::AddFOp::create(b, origin, distance);
  Value kept = arith::SubFOp::create(b, rounded, origin);
  return {rounded, arith::SubFOp::create(b, distance, kept)};
}

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_EMIT_SPLITSUM_H
