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
#include "Consumer.h"
#include "DeferredEpilogue.h"
#include "SubtileCopies.h"

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
  int64_t getRoundsOfBody();
  bool halvesBesideSteps();
  void emitTurns();
  SmallVector<Value> advance(Consumer &consumer, ValueRange last,
                             llvm::function_ref<void()> emitStep);
  SmallVector<Value> start(ValueRange held);
  SmallVector<Value> hold(ValueRange started);
  void prepareHeld();
  SmallVector<Value> loadRounds(Value round, int64_t count);
  /// Emits a step and what goes with it, of which it takes and gives values
  /// from step to step.
  using EmitWith = llvm::function_ref<SmallVector<Value>(
      ValueRange, llvm::function_ref<void()> emitStep)>;
  SmallVector<Value> emitRound(Value round, ValueRange held, ValueRange initial,
                               EmitWith emitWith);
  /// What rounds read, `rounds` of them at a time: those at hand, and the next.
  struct Loaded {
    int64_t rounds;
    SmallVector<Value> current, next;
  };
  SmallVector<Value> emitRoundOfBody(Value round, int64_t number,
                                     Loaded &loaded, ValueRange left,
                                     ValueRange initial, EmitWith emitWith);
  SmallVector<Value> emitRounds(ValueRange held, ValueRange initial,
                                int64_t most, EmitWith emitWith);

  TiledFrame &frame;
  KernelBuilder &b;
  TiledLinearOp op;
  WorkPartition &partition;
  DeferredEpilogue &epilogue;
  SubtileCopies &copies;
  KeptTurn turn;
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_SM90_DEFERREDTURNS_H
