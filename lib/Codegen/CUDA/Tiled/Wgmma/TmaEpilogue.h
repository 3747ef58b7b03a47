//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The epilogue of a wgmma kernel's tile, through TMA.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_TMAEPILOGUE_H
#define TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_TMAEPILOGUE_H

#include "Codegen/CUDA/Emit/ElementEmitter.h"
#include "Codegen/CUDA/Tiled/FinishedColumns.h"
#include "Codegen/CUDA/Tiled/Wgmma/Subtiles/SubtileCopies.h"
#include "Codegen/CUDA/Tiled/Wgmma/Subtiles/SubtileMoments.h"

namespace mlir::tenon {

/// Finishes tiles on the accumulators as they are: every warpgroup computes its
/// part subtile by subtile (EpilogueSubtiles.h), and TMA moves what has M x N
/// elements. It leaves out what lies beyond M or N.
///
/// An operand may be the buffer of a result: each subtile is loaded before it
/// is stored, and belongs to one warpgroup.
class TmaEpilogue {
public:
  TmaEpilogue(TiledFrame &frame, TiledLinearOp op, EpilogueSubtiles subtiles);

  /// While the last products of a turn are computed: loads the first of the
  /// operands that have one value a feature, if there are registers for them.
  void prepare(const WorkItem &item);
  /// Finishes a tile. `accumulators` are as WarpgroupProduct gives them.
  void emit(const WorkItem &item, ValueRange accumulators);

  /// From here on, `columns` has what a reduction found, and what the op
  /// reduces takes the place of accumulators. `prepare` comes after it.
  void setFinished(const FinishedColumns &columns) { finished = &columns; }

  SubtileCopies copies;

private:
  class Subtile;
  void prepareFirst(const WorkItem &item);
  void prepareBlock(const WorkItem &item, int64_t block);
  void emitSubtile(const WorkItem &item, int64_t number,
                   ValueRange accumulators);
  void readMoments(const WorkItem &item, int64_t number);
  void storeMoments(const WorkItem &item);

  TiledFrame &frame;
  KernelBuilder &b;
  TiledLinearOp op;
  EpiloguePhase phase;
  const FinishedColumns *finished = nullptr;
  SmallVector<BlockArgument> perRow;      ///< operands with one value a row
  SmallVector<SmallVector<Value>> ofRows; ///< their values
  bool hasRoom; ///< for operands beside what the main loop accumulates
  /// Whether there are registers for what subtiles side by side share.
  bool keepsValues;
  /// Blocks of 8 columns whose operands are loaded ahead.
  int64_t blocksAhead;
  /// Of the blocks of the tile that are in work, by number.
  SmallVector<std::unique_ptr<ElementEmitter>> emitters;
  /// Moments that are read but not stored, and numbers of their subtiles.
  SmallVector<std::tuple<ResultMoments, int64_t, SubtileMoments>> readAhead;
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_TMAEPILOGUE_H
