//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reduces columns of which each warp has some rows.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_RESIDENTWARPS_H
#define TENON_LIB_CODEGEN_CUDA_TILED_RESIDENTWARPS_H

#include "ResidentReduction.h"

namespace mlir::tenon {

/// What is reduced is computed in the accumulators' registers, and reduced by
/// warp; warps leave their states in shared memory, and one thread a column
/// combines them, exchanges them with other tiles', and finishes the column.
class ResidentWarps : public ResidentReduction {
public:
  using ResidentReduction::ResidentReduction;
  virtual ~ResidentWarps() = default;

protected:
  /// Where a warp has states and origins of its columns.
  struct WarpMemory {
    Value states, origins;
  };

  /// The warp's own, and that of the `warp`-th along M of those that have the
  /// `part`-th part of the columns. It waits for nothing at that time.
  virtual WarpMemory getOwnMemory() = 0;
  virtual WarpMemory getMemory(int64_t warp, Value part) = 0;

  /// What is reduced, in the places of the accumulators: these themselves, if
  /// the reduction is of them. `setKnown` is as emitReducedInput takes it.
  SmallVector<Value> computeReduced(
      const WorkItem &item, ValueRange accumulators,
      llvm::function_ref<void(ElementEmitter &, int64_t block)> setKnown);
  /// Each warp leaves the states of its rows. Then a barrier has to come.
  void storeWarpStates(const WorkItem &item, ValueRange elements);
  /// Publishes the tile's states.
  void publish(const WorkItem &item, Value turn);
  /// Ends the reduction of the tile's columns with all tiles' states. Then a
  /// barrier has to come.
  void finish(const WorkItem &item, Value turn);

private:
  ReductionState combineWarps(const WorkItem &item, Value inTile);
  Value countRows(const WorkItem &item, int64_t warp);
  void emitForColumns(llvm::function_ref<void(Value)> body);
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_RESIDENTWARPS_H
