//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The thread that copies tiles of x and w to shared memory.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_PRODUCER_H
#define TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_PRODUCER_H

#include "Codegen/CUDA/Tiled/WorkPartition.h"
#include "StageRing.h"

namespace mlir::tenon {

/// Copies with TMA, as far ahead of the multiplying warps as there are stages,
/// across all of the block's turns. In a cluster along M the blocks have rows
/// of w in common: each copies its share to all of them; along N likewise x.
class Producer {
public:
  Producer(TiledFrame &frame, WorkPartition &partition)
      : frame(frame), b(frame.b), partition(partition), ring(frame) {}

  /// To be run by one thread.
  void emit();

private:
  Value getKTile(const WorkItem &item, Value turn, Value number);
  RingPosition copyTurn(Value turn, const RingPosition &first);
  void copyStage(const WorkItem &item, Value kTile, Value stage);
  void copyTerms(const WorkItem &item, Value kTile, Value stage, unsigned term);
  void copyTerm(const WorkItem &item, Value kTile, Value stage, unsigned term);
  void copyRows(Value map, Value target, Value barrier, Value column, Value row,
                int64_t rows, bool isTurned, Value part, int64_t parts,
                Value policy = {});
  Value getPolicyOfW();
  void waitForAll(RingPosition position);

  TiledFrame &frame;
  KernelBuilder &b;
  WorkPartition &partition;
  StageRing ring;
  Value policyOfW; ///< i64; null if L2 is to keep of w what it can
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_PRODUCER_H
