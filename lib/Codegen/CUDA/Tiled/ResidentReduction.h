//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reduces columns between a tile's main loop and its epilogue.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_RESIDENTREDUCTION_H
#define TENON_LIB_CODEGEN_CUDA_TILED_RESIDENTREDUCTION_H

#include "AffineInput.h"
#include "FinishedColumns.h"
#include "PanelExchange.h"

namespace mlir::tenon {

/// The part of a region with one reduction along M that is the same for all
/// families. What is reduced is computed in the accumulators' registers, and
/// reduced within the tile; then the tiles of a column exchange their states,
/// and one thread a column finishes it. The rest of the region, and the order
/// of it all, is the family's.
class ResidentReduction {
public:
  /// `hasFinisher`: see PanelExchange.h.
  ResidentReduction(TiledFrame &frame, TiledLinearOp op,
                    bool hasFinisher = false);

  /// Before a turn's main loop: has operands of one value a column come to L2,
  /// since between main loop and epilogue nothing hides what a load takes.
  void prefetch(const WorkItem &item);

protected:
  static bool isColumnOperand(BlockArgument operand);

  /// Of whose phases one completes a turn, when its finisher has written what
  /// it found of the tile's columns.
  Value getFinishedBarrier() {
    return b.offset(frame.shared, frame.geometry.finishedBarrierOffset());
  }

  /// Emits `body` unless the tile has no rows, as that of a cluster's second
  /// block may: it waits for no states, since those that store them do not wait
  /// for it.
  void emitIfRows(const WorkItem &item, llvm::function_ref<void()> body);

  /// Ends the reduction of a column of the tile with all tiles' states. `keep`
  /// takes what `finished` keeps of it; then, where `stores` (i1) holds,
  /// results that have one value a column are stored.
  void finishColumn(const WorkItem &item, Value turn, Value inTile,
                    Value stores,
                    llvm::function_ref<void(ArrayRef<Value>)> keep);
  /// The same in every block of the panel: each keeps it, and that of the first
  /// rows stores.
  void finishColumn(const WorkItem &item, Value turn, Value inTile);

  TiledFrame &frame;
  KernelBuilder &b;
  TiledLinearOp op;
  EpiloguePlan plan;
  ReductionEpilogueOp reduction;
  std::optional<AffineInput> affine; ///< then its source is reduced
  Value reduced;        ///< what is, in the accumulators' registers
  EpiloguePhase before; ///< what gives it
  PanelExchange exchange;
  FinishedColumns finished;

private:
  void storeResults(Value column, const ReductionState &state,
                    ArrayRef<Value> operands);
  SmallVector<Value> loadColumnOperands(Value column);
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_RESIDENTREDUCTION_H
