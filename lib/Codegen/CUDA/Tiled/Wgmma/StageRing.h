//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The ring of stages in shared memory between the copying and the multiplying
// warps.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_STAGERING_H
#define TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_STAGERING_H

#include "Codegen/CUDA/Tiled/TiledFrame.h"

namespace mlir::tenon {

/// Where a thread stands in the ring: a stage, and the parity of its rounds,
/// both i32.
struct RingPosition {
  Value stage, parity;
};

/// Stages, each with two barriers: "full" completes when all bytes of the stage
/// have arrived, "empty" when every warpgroup of the cluster that reads it or
/// whose copies fill it has multiplied it.
class StageRing {
public:
  explicit StageRing(TiledFrame &frame);

  /// Prepares the barriers; one thread of the block does.
  void initialize();

  /// The position after `count` stages from the start.
  RingPosition getPosition(Value count);
  RingPosition getNext(const RingPosition &position);
  /// The stage's first byte.
  Value getMemory(Value stage);
  Value getFullBarrier(Value stage);

  // The copying thread: waits until the stage may be overwritten, and says how
  // many bytes are to arrive.
  void waitEmpty(const RingPosition &position);
  void expectBytes(Value stage);

  // The multiplying threads: all wait, and all release together.
  void waitFull(const RingPosition &position);
  void release(Value stage);

private:
  Value getEmptyBarrier(Value stage);
  /// Warpgroups that release a stage.
  int64_t getReleases();

  TiledFrame &frame;
  KernelBuilder &b;
  Value barriers;
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_STAGERING_H
