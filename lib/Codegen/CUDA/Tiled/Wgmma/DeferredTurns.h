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

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_DEFERREDTURNS_H
#define TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_DEFERREDTURNS_H

#include "Codegen/CUDA/Tiled/TileEnd.h"
#include "Codegen/CUDA/Tiled/Wgmma/Subtiles/DeferredEpilogue.h"
#include "Codegen/CUDA/Tiled/Wgmma/Subtiles/SubtileCopies.h"
#include "Consumer.h"

namespace mlir::tenon {

/// The turns of the warps that multiply, where a part of a tile is held when
/// its products are done, and finished beside those of the next. After the last
/// turn nothing hides it.
class DeferredTurns {
public:
  DeferredTurns(TiledFrame &frame, TiledLinearOp op, WorkPartition &partition,
                DeferredEpilogue &epilogue, SubtileCopies &copies);

  void emit();

private:
  int64_t getGroups();
  int64_t getGroupsOfSpread();
  int64_t getGroupsBesideStep();
  void emitTurns();
  SmallVector<Value> advance(Consumer &consumer, ValueRange last,
                             llvm::function_ref<void()> emitStep);
  SmallVector<Value> start(ValueRange held);
  SmallVector<Value> hold(ValueRange started);
  WorkItem getHeldItem();
  void prepareHeld();
  void emitStep(DeferredStep step, ValueRange loaded, ValueRange held);
  /// Emits a step and what goes with it, of which it takes and gives values
  /// from step to step.
  using EmitWith = llvm::function_ref<SmallVector<Value>(
      ValueRange, llvm::function_ref<void()> emitStep)>;
  SmallVector<Value> loadBody(const WorkItem &item, Value first, int64_t steps);
  SmallVector<Value> takePart(ValueRange held, Value number, size_t count);
  void emitStepOfBody(Value first, int64_t number, int64_t steps,
                      ValueRange loaded, ValueRange part);
  SmallVector<Value> emitLoop(ValueRange held, ValueRange initial,
                              EmitWith emitWith);
  SmallVector<Value> emitSteps(ValueRange held, ValueRange initial,
                               EmitWith emitWith);
  void emitLastLoop(ValueRange held);
  void emitLastSteps(ValueRange held);

  TiledFrame &frame;
  KernelBuilder &b;
  TiledLinearOp op;
  WorkPartition &partition;
  DeferredEpilogue &epilogue;
  SubtileCopies &copies;
  KeptTurn turn;
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_DEFERREDTURNS_H
