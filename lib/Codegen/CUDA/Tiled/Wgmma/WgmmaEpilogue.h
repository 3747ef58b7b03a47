//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How a wgmma kernel finishes its tiles.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_WGMMAEPILOGUE_H
#define TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_WGMMAEPILOGUE_H

#include "Codegen/CUDA/Tiled/RowReductions.h"
#include "Codegen/CUDA/Tiled/TileEnd.h"
#include "Codegen/CUDA/Tiled/Wgmma/Swapped/SwappedResident.h"
#include "PanelFinisher.h"
#include "ResidentEpilogue.h"

namespace mlir::tenon {

/// The one of the epilogues that a kernel has: with operands swapped or not,
/// with a reduction or not. In none of these ways, where TMA moves no [M, N]
/// tensor, tiles are finished as in kernels of family mma_sync.
class WgmmaEpilogue {
public:
  WgmmaEpilogue(TiledFrame &frame, TiledLinearOp op);

  /// Null where TMA moves no [M, N] tensor.
  SubtileCopies *getCopies();

  /// Before a warpgroup's first turn.
  void start(KeptTurn &turn, WorkPartition &partition);
  /// When a turn's first products have been started: before, it would put off
  /// what these wait for.
  void prefetch(KeptTurn &turn);
  /// While a turn's last products are computed.
  void prepare(KeptTurn &turn);
  /// Finishes a turn of `partition`. `accumulators` are as WarpgroupProduct
  /// gives them.
  void emit(KeptTurn &turn, WorkPartition &partition, ValueRange accumulators);
  /// With a reduction: what a warp does that does not multiply.
  void emitBeside(WorkPartition &partition);

  /// With defer; null where tiles are finished one by one all the same.
  DeferredEpilogue *getDeferred();
  /// Whether a PanelFinisher ends the reduction.
  bool hasFinisher() { return swappedResident && getDeferred(); }

private:
  TiledFrame &frame;
  TiledLinearOp op;
  std::optional<SwappedEpilogue> swapped; ///< with swapped operands
  std::optional<TmaEpilogue> tma;         ///< through TMA, with others
  std::optional<RowReductions> rows;      ///< if it reduces rows
  // If the region has a reduction along M.
  std::optional<ResidentEpilogue> resident;
  std::optional<SwappedResident> swappedResident;
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_WGMMAEPILOGUE_H
