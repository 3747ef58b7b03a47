//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// States of a reduction, combined in shared memory.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_EPILOGUE_SHAREDSTATES_H
#define TENON_LIB_CODEGEN_CUDA_EPILOGUE_SHAREDSTATES_H

#include "KernelFrame.h"

namespace mlir::tenon {

/// States of a reduction in shared memory, one for each part of a block and
/// each of its columns. Parts are combined in a tree, in an order that never
/// changes.
class SharedStates {
public:
  SharedStates(KernelFrame &frame, ReductionEpilogueOp reduction, Type type,
               unsigned parts, unsigned columns);

  /// Stores this thread's states, of `width` columns from `column` on: all of a
  /// state's first scalars, then all second ones.
  void store(Value part, Value column, unsigned width, Value count,
             ArrayRef<Value> states);
  /// Combines all parts into part 0. Every thread calls it, with the part and
  /// columns that it stored; threads of part 0 may then load.
  void combine(Value part, Value column, unsigned width);
  /// This thread's states, as `store` takes them.
  SmallVector<Value> load(Value part, Value column, unsigned width);

private:
  Value offset(Value part, unsigned scalar, Value column);
  void combinePair(Value part, unsigned stride, unsigned counts, Value column,
                   unsigned width);
  Value count(Value part, unsigned counts);

  KernelFrame &frame;
  KernelBuilder &b;
  ReductionEpilogueOp reduction;
  Type type;
  unsigned parts, columns;
  Value buffer, countBuffer;
};

/// The state of one of `width` columns: `states` has all of a state's first
/// scalars, then all second ones.
SmallVector<Value> getLaneState(ArrayRef<Value> states, unsigned lane,
                                unsigned width);

/// `emitCombine` on each of `width` columns.
SmallVector<Value> combineStates(KernelFrame &frame,
                                 ReductionEpilogueOp reduction, Value lhsCount,
                                 ArrayRef<Value> lhs, Value rhsCount,
                                 ArrayRef<Value> rhs, unsigned width);

/// The type of a reduction's states: its input's compute type.
Type getStateType(ReductionEpilogueOp reduction);

/// Whether a reduction's states are moved before they are combined
/// (`getOrigin`).
bool hasOrigin(ReductionEpilogueOp reduction);

/// Scalars of a stored state. One of moments of f32, but of sums, has one more:
/// what rounding left of its origin (`getOrigin`), by which it is still to be
/// moved.
unsigned getStoredSize(ReductionEpilogueOp reduction);

/// At the end of a kernel that reduces: combines `reduced`, count and states of
/// each thread's columns, over the block's rows of threads, and stores what
/// `finish` makes of the group's states, stored ones, in `frame.state`.
void storeGroupState(
    KernelFrame &frame, ReductionEpilogueOp reduction, ArrayRef<Value> reduced,
    llvm::function_ref<SmallVector<Value>(ArrayRef<Value>)> finish);

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_EPILOGUE_SHAREDSTATES_H
