//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The main loop of the warps that multiply.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_SM90_CONSUMER_H
#define TENON_LIB_CODEGEN_CUDA_SM90_CONSUMER_H

#include "../Tiled/WorkPartition.h"
#include "StageRing.h"
#include "WarpgroupOrder.h"
#include "WarpgroupProduct.h"

namespace mlir::tenon {

/// Multiplies the stages of a turn as they arrive. One group of wgmma is always
/// in flight: a stage is released when the next one's products have started.
///
/// The tensor cores cut off what an accumulator has no bits for. With method
/// fp16x3 that would show, so after every kPromoteStages what they have
/// accumulated is promoted: added, with rounding, to sums in other registers.
/// Two warpgroups of a tile take the tensor cores in turn meanwhile: one
/// promotes while the other's products are computed.
class Consumer {
public:
  explicit Consumer(TiledFrame &frame)
      : frame(frame), b(frame.b), ring(frame), product(frame), order(frame) {}

  /// Whether the warpgroups of a tile take the tensor cores in turn.
  static bool alternates(const TileGeometry &geometry);

  /// The accumulators of a turn whose first stage is the `passed`-th since the
  /// kernel's start. `afterFirst` emits what may happen when the products of
  /// the first have been started, and `beforeEnd` when all have; if they are
  /// promoted, that happens before all of them, and when they are done.
  SmallVector<Value> run(const WorkItem &item, Value passed,
                         llvm::function_ref<void()> afterFirst,
                         llvm::function_ref<void()> beforeEnd);

  // The same in two parts, where nothing is promoted.
  /// What happens beside products of a turn: `emit(i)` while those of a stage
  /// are computed, of `steps` stages after the first, or with `isLate` of the
  /// last. K has more.
  struct Beside {
    int64_t steps = 0;
    bool isLate = false;
    llvm::function_ref<void(int64_t)> emit;
  };
  /// Starts all products. Gives what `finish` waits for.
  SmallVector<Value> start(const WorkItem &item, Value passed,
                           llvm::function_ref<void()> afterFirst,
                           const Beside &beside);
  /// The accumulators.
  SmallVector<Value> finish(ValueRange started);

private:
  struct State;
  State begin(const RingPosition &first);
  State advance(State state, llvm::function_ref<void()> beside = [] {});
  State advanceAll(const State &state, Value first, Value count);
  State start(const RingPosition &first, Value count,
              llvm::function_ref<void()> afterFirst);
  SmallVector<Value> complete(const State &end);
  SmallVector<Value> promote(const RingPosition &first, Value count);

  TiledFrame &frame;
  KernelBuilder &b;
  StageRing ring;
  WarpgroupProduct product;
  WarpgroupOrder order;
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_SM90_CONSUMER_H
