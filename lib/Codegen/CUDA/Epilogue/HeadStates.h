//===- HeadStates.h - States that a kernel's head combines -----*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_EPILOGUE_HEADSTATES_H
#define TENON_LIB_CODEGEN_CUDA_EPILOGUE_HEADSTATES_H

#include "KernelFrame.h"

namespace mlir::tenon {

/// Moments of a column that each block's head combines at most. Where there are
/// more, a kernel before combines them to at most `kCombinedStates`: every
/// block that shares a column reads all its states.
inline constexpr int64_t kMaxHeadStates = 32;
inline constexpr int64_t kCombinedStates = 8;

/// Whether `reduction` has moments, and they are or, with a dynamic M, may be
/// more than that. Then they are combined, however many they are.
bool combinesMoments(ReductionEpilogueOp reduction);

/// Rows of each of the states to which they are combined.
Value emitCombinedRows(ImplicitLocOpBuilder &b, ReductionEpilogueOp reduction,
                       Value m);

/// The kernel that combines them. Its arguments are the moments, the states
/// that it leaves, [kCombinedStates, stored size, N], M and the groups of
/// blocks, kCombinedStates.
LLVM::LLVMFuncOp emitCombineKernel(gpu::GPUModuleOp module, StringRef name,
                                   ReductionEpilogueOp reduction,
                                   const KernelGeometry &geometry);
/// Its threads and columns, of moments of N columns.
KernelGeometry getCombineGeometry(int64_t n);

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
  SmallVector<Value> load(Value index);
  SmallVector<Value> loadMoved(Value index, ArrayRef<Value> amounts);
  SmallVector<Value> move(ArrayRef<Value> states, ArrayRef<Value> amounts);
  void loadOrigins();
  Value countRows(Value index);
  SmallVector<Value> getEmpty();
  SmallVector<Value> emitBatch(Value first, ValueRange carried);
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_EPILOGUE_HEADSTATES_H
