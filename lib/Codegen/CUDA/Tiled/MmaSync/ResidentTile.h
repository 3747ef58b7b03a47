//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The epilogue of a mma_sync kernel that reduces columns itself.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_MMASYNC_RESIDENTTILE_H
#define TENON_LIB_CODEGEN_CUDA_TILED_MMASYNC_RESIDENTTILE_H

#include "Codegen/CUDA/Tiled/ResidentWarps.h"

namespace mlir::tenon {

/// Finishes tiles of a region with one reduction along M: warps reduce their
/// accumulators through the memory in which they turn them into rows later,
/// when what was found of columns is known.
class ResidentTile : public ResidentWarps {
public:
  using ResidentWarps::ResidentWarps;

  /// Finishes a turn.
  void emit(const WorkItem &item, Value turn, Value turns,
            ValueRange accumulators);
  /// After the last of `turns` turns: clears what they left in the workspace.
  void clear(Value turns);

private:
  WarpMemory getOwnMemory() override;
  WarpMemory getMemory(int64_t warp, Value part) override;
  WarpMemory getMemory(Value tileWarp);
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_MMASYNC_RESIDENTTILE_H
