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

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_CONSUMER_H
#define TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_CONSUMER_H

#include "Codegen/CUDA/Tiled/WorkPartition.h"
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
/// promotes while the other's products are computed (see `alternates`). Where
/// blocks have scales, what is added is multiplied by them.
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

  // The parts of that, where nothing is promoted.
  /// What a stage hands to the next.
  struct State {
    RingPosition next;
    Value pending; ///< the stage in flight
    Value sums;

    SmallVector<Value> pack() const;
    static State unpack(ValueRange values);
  };
  /// Starts the products of a turn's first stage, the `passed`-th.
  State begin(Value passed, int64_t groups);
  /// Starts those of the next, in `groups`, of which code of many stages had
  /// better have several where little is beside them. `beside` emits what
  /// happens while they are computed.
  State advance(
      State state, int64_t groups, llvm::function_ref<void()> beside = [] {});
  /// Waits for the stage that `advance` takes next, or has just started: a
  /// branch, without which ptxas may start a stage's first products, compute
  /// what is beside them, and then start the others.
  void waitForNext(const State &state) { ring.waitFull(state.next); }
  /// Stages `first` to `count`.
  State advanceAll(const State &state, Value first, Value count,
                   int64_t groups);
  /// The accumulators, when all products that were started are done.
  SmallVector<Value> complete(const State &end);

private:
  State begin(const RingPosition &first, int64_t groups);
  State start(const RingPosition &first, Value count,
              llvm::function_ref<void()> afterFirst);
  SmallVector<Value> promote(const RingPosition &first, const WorkItem &item);

  TiledFrame &frame;
  KernelBuilder &b;
  StageRing ring;
  WarpgroupProduct product;
  WarpgroupOrder order;
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_CONSUMER_H
