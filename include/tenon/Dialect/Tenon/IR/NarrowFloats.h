//===- NarrowFloats.h - Conversions of 8-bit floats -------------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// f8E4M3FN and f8E5M2 as integers, for targets without instructions for them.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_TENON_IR_NARROWFLOATS_H
#define TENON_DIALECT_TENON_IR_NARROWFLOATS_H

#include "mlir/IR/Operation.h"

namespace mlir::tenon {

inline bool isNarrowFloat(Type type) {
  return isa<FloatType>(type) && type.getIntOrFloatBitWidth() == 8;
}

/// Replaces each arith.extf and arith.truncf from and to 8 bits within `root`,
/// of scalars and vectors, by arithmetic on f32 and i32. Rounds as tenon.cast
/// does (Spec.md, cast-R1).
void expandNarrowFloats(Operation *root);

} // namespace mlir::tenon

#endif // TENON_DIALECT_TENON_IR_NARROWFLOATS_H
