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

#ifndef TENON_LIB_CODEGEN_CUDA_SM90_DEFERREDEPILOGUE_H
#define TENON_LIB_CODEGEN_CUDA_SM90_DEFERREDEPILOGUE_H

#include "../Tiled/WorkPartition.h"

namespace mlir::tenon {

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
  /// Beside the next tile's products, or after the last tile: loads what the
  /// first step needs.
  virtual void prepareHeld(const WorkItem &item) = 0;
  /// What `count` rounds from number `round` on read and had better not wait
  /// for.
  virtual SmallVector<Value> loadRounds(const WorkItem &, Value /*round*/,
                                        int64_t /*count*/) {
    return {};
  }
  /// For how many rounds at most it is loaded at a time: 0 if rounds read
  /// nothing of the kind.
  virtual int64_t getMostLoaded() { return 0; }
  /// Begins a round with what was loaded for it, and `before` rounds before it.
  virtual void beginRound(ValueRange /*loaded*/, Value /*round*/,
                          int64_t /*before*/) {}
  /// A step of the rest: one of the `getNumSteps` of a round, of which there
  /// are `getNumRounds`. `round`, i32, is null if there is one. Each round
  /// finds what it needs of what is held at the front.
  virtual void emitStep(const WorkItem &item, Value turn, int64_t step,
                        Value round, ValueRange held) = 0;
  virtual int64_t getNumSteps() = 0;
  virtual int64_t getNumRounds() { return 1; }
  /// After the last.
  virtual void endHeld() = 0;
  /// Whether the last of the next tile's products hide the steps, else the
  /// first: steps that wait for other tiles had better come late.
  virtual bool isLate() = 0;
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_SM90_DEFERREDEPILOGUE_H
