//===- RowPhases.h - An epilogue cut at reductions of rows -----*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_EMIT_ROWPHASES_H
#define TENON_LIB_CODEGEN_CUDA_EMIT_ROWPHASES_H

#include "tenon/Dialect/Tenon/Analysis/EpiloguePlan.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::tenon {

/// A reduction along N, and what computes its input.
struct RowPhase {
  ReduceRowOp reduction; ///< null where `takeYielded` has added it
  /// What stands for the result, [M, 1] in the compute type.
  BlockArgument result;
  /// What is reduced, and what computes it.
  Value input;
  EpiloguePhase phase;
  /// Of a place, the numbers that stand there; null: columns'.
  Value numbers;
  /// What the region's first argument stands for from this reduction on, and
  /// what computes it of what it stood for before; null: of the same.
  Value source;
  EpiloguePhase sourcePhase;
};
using RowPhases = SmallVector<RowPhase, 2>;

/// For kernels that hold the region's first argument in registers: what all
/// that is left to do takes of it is computed once, in its place, and not again
/// for each reduction and what follows.
enum class SourceMoves {
  None,
  Independent, ///< what depends on no reduction
  All
};

/// Into how many groups the ops of a region divide each row: 1 if they reduce
/// whole rows, 0 if none reduces rows or repeats what was found of them.
int64_t getRowGroups(Block &body);

/// Gives each `tenon.reduce_row` of an epilogue's region an argument, behind
/// the others, that takes the place of its result. To what follows they are
/// operands of one value a row, which a kernel that has reduced a row can say.
/// Returns the reductions in order: one may depend on those before it.
///
/// Of groups each is a row: what there is one of for each group of a row
/// becomes [M, 1], what there is one of for each group of all rows [1, 1] or
/// [1], and `tenon.repeat_columns` gives each column of a row its one value.
/// What lies in memory so is then of another type than its argument or value; a
/// kernel that is at a group finds it by `getGroupPointer`.
RowPhases cutAtRowReductions(Block &body, SourceMoves moves);

/// For kernels that have what they find in registers, while nothing else can
/// read it: adds a last phase, which reduces nothing, with what the body yields
/// of the product's shape, one value at most, as the first argument's last
/// source.
void takeYielded(Block &body, RowPhases &phases);

/// Where an argument's or result's value for each row begins, if in memory it
/// has `groups` for each, of which the kernel is at `group` of `row`, both i64.
Value getGroupPointer(ImplicitLocOpBuilder &b, Value pointer, Type inMemory,
                      Type inRegion, Value row, Value group);

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_EMIT_ROWPHASES_H
