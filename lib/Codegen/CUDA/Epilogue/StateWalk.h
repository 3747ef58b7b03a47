//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The states that a kernel combines at its start.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_EPILOGUE_STATEWALK_H
#define TENON_LIB_CODEGEN_CUDA_EPILOGUE_STATEWALK_H

#include "KernelFrame.h"

namespace mlir::tenon {

/// Walks states of neighbouring columns in memory, [states, stored size, N],
/// and combines them in a fixed order: `parts` threads take them in turn.
///
/// All threads of a column move its states by the origin of the first one, so
/// that means which lie close together are not rounded as what is large.
struct StateWalk {
  KernelFrame &frame;
  ReductionEpilogueOp reduction;
  StateBuffer states;
  Value column;     ///< i64: the first one
  unsigned width;   ///< columns
  Value begin, end; ///< i64: the first state, and where they end
  Value part;       ///< i64: which of the threads this is
  int64_t parts;
  /// Whether they are loaded again to move states back: kept in registers
  /// meanwhile, they make kernels with much else to do spill.
  bool reloadsOrigins = true;
  SmallVector<Value> origins = {}; ///< by column; `emit` loads them

  /// Count and states of the thread's part, moved, as SharedStates takes them;
  /// those of the empty set if there is none.
  SmallVector<Value> emit();
  /// Moves such states of all parts back to where the elements are.
  SmallVector<Value> moveBack(ArrayRef<Value> moved);
  /// The same, as they are stored.
  SmallVector<Value> getStored(ArrayRef<Value> moved);

private:
  int64_t getBatch();
  SmallVector<Value> load(Value index);
  SmallVector<Value> loadMoved(Value index, ArrayRef<Value> amounts);
  SmallVector<Value> move(ArrayRef<Value> states, ArrayRef<Value> amounts);
  void loadOrigins();
  Value countRows(Value index);
  SmallVector<Value> getEmpty();
  SmallVector<Value> emitBatch(Value first, ValueRange carried);
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_EPILOGUE_STATEWALK_H
