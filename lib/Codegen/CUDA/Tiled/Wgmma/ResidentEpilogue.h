//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The epilogue of a wgmma kernel that reduces columns itself.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_RESIDENTEPILOGUE_H
#define TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_RESIDENTEPILOGUE_H

#include "Codegen/CUDA/Tiled/ResidentWarps.h"
#include "TmaEpilogue.h"

namespace mlir::tenon {

/// Finishes tiles of a region with one reduction along M through TMA, when what
/// was found of columns is known. So what is stored is stored once.
///
/// Between main loop and epilogue nothing else hides what a load takes. So
/// operands that what is reduced depends on, with one value a column, are
/// staged in shared memory, once for each warpgroup: beside the accumulators a
/// thread has few registers for loads that are in flight together.
class ResidentEpilogue : public ResidentWarps {
public:
  ResidentEpilogue(TiledFrame &frame, TiledLinearOp op, TmaEpilogue &tma);

  /// When the turn's last products have been started: starts loads.
  void prepare(const WorkItem &item);
  /// Finishes a turn. `accumulators` are as WarpgroupProduct gives them.
  void emit(const WorkItem &item, Value turn, Value turns,
            ValueRange accumulators);
  /// After the last of `turns` turns, in a warp that does not multiply.
  void clear(Value turns) { exchange.end.clear(turns); }

private:
  static constexpr int64_t kWarps = 4; ///< of a warpgroup

  WarpMemory getOwnMemory() override;
  WarpMemory getMemory(int64_t warp, Value part) override;
  WarpMemory getMemory(Value warpgroup, Value warp);
  Value getWarpgroupMemory(Value warpgroup);
  int64_t getBytesOfStates() const;
  void chooseStaged();
  Value getStaged(size_t operand, Value inTile);
  void storeStaged();
  void setStaged(ElementEmitter &emitter, int64_t block);

  TmaEpilogue &tma;
  SmallVector<BlockArgument> staged; ///< operands
  SmallVector<Value> loaded; ///< the thread's columns of the first, the next...
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_RESIDENTEPILOGUE_H
