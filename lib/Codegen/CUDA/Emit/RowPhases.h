//===- RowPhases.h - An epilogue cut at reductions of rows -----*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_EMIT_ROWPHASES_H
#define TENON_LIB_CODEGEN_CUDA_EMIT_ROWPHASES_H

#include "tenon/Dialect/Tenon/Analysis/EpiloguePlan.h"

namespace mlir::tenon {

/// A reduction along N, and what computes its input.
struct RowPhase {
  ReduceRowOp reduction;
  /// What stands for the result, [M, 1] in the compute type.
  BlockArgument result;
  /// What is reduced, and what computes it.
  Value input;
  EpiloguePhase phase;
  /// What the region's first argument stands for from this reduction on, and
  /// what computes it of what it stood for before; null: of the same.
  Value source;
  EpiloguePhase sourcePhase;
};
using RowPhases = SmallVector<RowPhase, 2>;

/// Gives each `tenon.reduce_row` of an epilogue's region an argument, behind
/// the others, that takes the place of its result. To what follows they are
/// operands of one value a row, which a kernel that has reduced a row can say.
/// Returns the reductions in order: one may depend on those before it.
///
/// With `movesSource`, for kernels that hold the region's first argument in
/// registers: what all that is left to do takes of it is computed once, in its
/// place, and not again for each reduction and what follows.
RowPhases cutAtRowReductions(Block &body, bool movesSource);

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_EMIT_ROWPHASES_H
