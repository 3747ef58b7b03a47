//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An epilogue of which a part is done beside the next turn's products.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_SUBTILES_DEFERREDEPILOGUE_H
#define TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_SUBTILES_DEFERREDEPILOGUE_H

#include "Codegen/CUDA/Tiled/WorkPartition.h"

namespace mlir::tenon {

/// Number `number` of the steps that finish what is held of a tile, or of those
/// in a loop's body from its first step on, whose own number `first` is, an
/// i32 that is null where steps are spelled out.
struct DeferredStep {
  Value first;
  int64_t number;
};

/// What a warpgroup does for a tile beside its products, and beside those of
/// the next tile. Its functions are in the order in which a tile meets them.
class DeferredEpilogue {
public:
  virtual ~DeferredEpilogue() = default;

  /// While the first products of the tile are computed.
  virtual void prefetch(const WorkItem &) {}
  /// While its last are.
  virtual void prepareTile(const WorkItem &) {}
  /// When all are done: finishes a part of the tile. Gives what a thread holds
  /// of the others, of `getHeldTypes`. `accumulators` are as WarpgroupProduct
  /// gives them.
  virtual SmallVector<Value> hold(const WorkItem &item, Value turn,
                                  ValueRange accumulators) = 0;
  virtual SmallVector<Type> getHeldTypes() = 0;
  /// Beside the next tile's products, or after the last tile: loads what all
  /// steps need.
  virtual void prepareHeld(const WorkItem &item) = 0;
  /// The rest: `getNumSteps` steps, which may be a loop.
  virtual int64_t getNumSteps() = 0;
  virtual bool isLoop() { return false; }
  /// How many steps the body of a loop has.
  virtual int64_t getStepsOfBody(bool /*besideProducts*/) { return 1; }
  /// Whether a stage without a step follows each: then steps may take longer
  /// than a stage's products.
  virtual bool isSpread() { return false; }
  /// The stages that steps are beside, or between.
  int64_t getStagesOfSteps() { return getNumSteps() * (isSpread() ? 2 : 1); }
  /// What a step of a loop reads and had better not wait for.
  virtual SmallVector<Value> loadStep(const WorkItem &, DeferredStep) {
    return {};
  }
  /// Emits a step. `loaded` is what `loadStep` gave. Of what is held, a step of
  /// a loop is given its part, as much as any other's, and else all.
  virtual void emitStep(const WorkItem &item, Value turn, DeferredStep step,
                        ValueRange loaded, ValueRange held) = 0;
  /// After the last.
  virtual void endHeld() = 0;
  /// Whether the last of the next tile's products hide the steps, else the
  /// first: steps that wait for other tiles had better come late.
  virtual bool isLate() = 0;
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_SUBTILES_DEFERREDEPILOGUE_H
