//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Turns whose tiles are finished beside the products of the next.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_SM90_DEFERREDTURNS_H
#define TENON_LIB_CODEGEN_CUDA_SM90_DEFERREDTURNS_H

#include "../Tiled/TileEnd.h"
#include "SwappedResident.h"

namespace mlir::tenon {

/// The turns of the warps that multiply, where a tile is held when it has been
/// reduced. The last stages of the next turn hide the rest of its epilogue, a
/// subtile each: the other tiles of its columns have had the time of all others
/// to be reduced too. After the last turn nothing hides it.
class DeferredTurns {
public:
  DeferredTurns(TiledFrame &frame, TiledLinearOp op, WorkPartition &partition,
                SwappedResident &resident, SubtileCopies &copies);

  void emit();

private:
  void emitTurns();
  SmallVector<Value> multiply(int64_t steps,
                              llvm::function_ref<void(int64_t)> beside);
  SmallVector<Value> hold(ValueRange accumulators);
  WorkItem getHeldItem();
  void finish(int64_t step, ValueRange held);

  TiledFrame &frame;
  KernelBuilder &b;
  TiledLinearOp op;
  WorkPartition &partition;
  SwappedResident &resident;
  SubtileCopies &copies;
  KeptTurn turn;
  KeptScalar passed;              ///< stages before the turn's first
  KeptScalar heldRow, heldColumn; ///< of the tile before the turn's
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_SM90_DEFERREDTURNS_H
