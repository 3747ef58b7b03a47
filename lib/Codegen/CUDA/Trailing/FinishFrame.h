//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The finishing kernel while it is built: its arguments and its units of work.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TRAILING_FINISHFRAME_H
#define TENON_LIB_CODEGEN_CUDA_TRAILING_FINISHFRAME_H

#include "../KernelFrame.h"
#include "Progress.h"

namespace mlir::tenon {

/// A kernel whose warps work alone. Its arguments are, in order: the phase's
/// operands, the outputs, what the reduction found for each column, the
/// workspace of progress, the moments, M and the launch's token, both i64.
class FinishFrame : public KernelFrame {
public:
  /// Warps of a block: one for each part of a multiprocessor, in which a block
  /// of the product leaves room for one.
  static constexpr unsigned kWarps = 4;
  /// Of a thread: as many as the product leaves. A spilled address costs less
  /// than to run after the product.
  static constexpr int32_t kRegisters = 56;

  FinishFrame(gpu::GPUModuleOp module, StringRef name, EpilogueOp op,
              const EpiloguePhase &phase, const ProgressLayout &layout,
              const KernelGeometry &geometry);

  EpilogueOp op;
  const EpiloguePhase &phase;
  ReductionEpilogueOp reduction;
  ProgressLayout layout;
  Value rows;  ///< i32: M
  Value found; ///< of each column, [scalars, N]
  Progress progress;
};

/// Combines the moments of a few columns and ends the reduction for them.
///
/// A column's moments are walked by 16 lanes, in turn, and their states
/// combined as a tree: always in one order, so results repeat.
struct CombineUnit {
  /// Columns of a unit, which no two panels share: few, so that there are many
  /// units when the last columns are complete.
  static constexpr int64_t kColumns = 2;

  /// Unit `number` of span `span`. Returns how many scalars it leaves of a
  /// column, for `NormaliseUnit`.
  static unsigned emit(FinishFrame &frame, Value span, Value number);
};

/// Maps rows of a span to the results, when its columns are combined. A lane
/// has neighbouring columns, of which it keeps what is the same in every row in
/// registers.
struct NormaliseUnit {
  /// Few, for the same reason.
  static constexpr int64_t kRows = 16;

  /// Unit `number` of span `span`: the newest rows first, which are still in
  /// L2.
  static void emit(FinishFrame &frame, Value span, Value number,
                   unsigned numScalars);
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TRAILING_FINISHFRAME_H
