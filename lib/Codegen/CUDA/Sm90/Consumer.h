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
#include "WarpgroupProduct.h"

namespace mlir::tenon {

/// Multiplies the stages of a turn as they arrive. One group of wgmma is always
/// in flight: a stage is released when the next one's products have started.
class Consumer {
public:
  explicit Consumer(TiledFrame &frame)
      : frame(frame), b(frame.b), ring(frame), product(frame) {}

  /// The accumulators of a turn whose first stage is the `passed`-th since the
  /// kernel's start. `beforeEnd` emits what may happen when all of its products
  /// have been started.
  SmallVector<Value> run(const WorkItem &item, Value passed,
                         llvm::function_ref<void()> beforeEnd);

private:
  struct State;
  State begin(const RingPosition &first);
  State advance(State state);

  TiledFrame &frame;
  KernelBuilder &b;
  StageRing ring;
  WarpgroupProduct product;
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_SM90_CONSUMER_H
