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
  /// Says why no kernel reduces the region of `op` so; "" if one does.
  static std::string findProblem(TiledLinearOp op);

  ResidentReduction(TiledFrame &frame, TiledLinearOp op);
  virtual ~ResidentReduction() = default;

  /// Before a turn's main loop: has operands of one value a column come to L2,
  /// since between main loop and epilogue nothing hides what a load takes.
  void prefetch(const WorkItem &item);

protected:
  /// Where a warp has states and origins of its columns.
  struct WarpMemory {
    Value states, origins;
  };

  /// The warp's own, and that of the `warp`-th along M of those that have the
  /// `part`-th part of the columns. It waits for nothing at that time.
  virtual WarpMemory getOwnMemory() = 0;
  virtual WarpMemory getMemory(int64_t warp, Value part) = 0;

  static bool isColumnOperand(BlockArgument operand);

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

  TiledFrame &frame;
  KernelBuilder &b;
  TiledLinearOp op;
  EpiloguePlan plan;
  ReductionEpilogueOp reduction;
  std::optional<AffineInput> affine; ///< then products are reduced themselves
  PanelExchange exchange;
  FinishedColumns finished;

private:
  ReductionState combineWarps(const WorkItem &item, Value inTile);
  Value countRows(const WorkItem &item, int64_t warp);
  void finishColumn(const WorkItem &item, Value turn, Value inTile);
  void storeResults(Value column, const ReductionState &state,
                    ArrayRef<Value> operands);
  void emitForColumns(llvm::function_ref<void(Value)> body);
  SmallVector<Value> loadColumnOperands(Value column);
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_RESIDENTREDUCTION_H
