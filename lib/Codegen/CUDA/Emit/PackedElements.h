//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two elements of 16 bits in a register.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_EMIT_PACKEDELEMENTS_H
#define TENON_LIB_CODEGEN_CUDA_EMIT_PACKEDELEMENTS_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::tenon {

/// The elements of `vector`, of f16 or bf16 and of even length, as f32.
SmallVector<Value> extendElements(ImplicitLocOpBuilder &builder, Value vector);

/// The elements as f32 of the 32-bit words of `words`, a struct, each of which
/// holds two elements of `type`, f16 or bf16; so ldmatrix gives them.
SmallVector<Value> extendWords(ImplicitLocOpBuilder &builder, Value words,
                               Type type);

/// Two elements of f32 rounded to `type`, in a vector, by one instruction that
/// stays one. Of two LLVM makes lone ones where both elements are used, and the
/// conversion of a lone accumulator ptxas moves to the ends of the branches
/// that meet after the main loop, before the wait for the product, and
/// serializes wgmma (C7514).
Value roundPair(ImplicitLocOpBuilder &builder, Value first, Value second,
                Type type);

/// Two f32 as neighbouring 8-bit floats, an i16. For sm_90a.
Value roundBytes(ImplicitLocOpBuilder &builder, Value first, Value second,
                 Type type);

/// The bounds that end a result's computation, of a clamp or a relu. To round
/// keeps the order of numbers, so rounding what is bounded gives the same as
/// bounding by rounded bounds what is rounded; and of 16 bits one instruction
/// bounds two elements.
class RoundedBounds {
public:
  /// Of `result`, if it is of 16 bits and only yielded; else none.
  explicit RoundedBounds(Value result);

  /// What is to be rounded and packed: `result` without its bounds.
  Value getUnbounded() const { return unbounded; }
  /// Bounds two elements of the result's type.
  Value apply(ImplicitLocOpBuilder &builder, Value pair) const;

private:
  /// Adds those that `value` ends in, the first to apply first.
  void add(Value value);

  Value unbounded;
  SmallVector<std::pair<bool, double>> bounds; ///< whether it is an upper one
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_EMIT_PACKEDELEMENTS_H
