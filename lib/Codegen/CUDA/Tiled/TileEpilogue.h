//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The epilogue of a tile: from accumulators to the results in memory.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_TILEEPILOGUE_H
#define TENON_LIB_CODEGEN_CUDA_TILED_TILEEPILOGUE_H

#include "FinishedColumns.h"
#include "WorkPartition.h"

namespace mlir::tenon {

/// Asks for the item's part of the epilogue's [M, N] operands, so that they are
/// in L2 when the main loop is over.
void emitPrefetch(TiledFrame &frame, TiledLinearOp op, const WorkItem &item);

/// What the epilogue computes: of a region that reduces along M, what follows
/// that, and of one that reduces rows not what was stored when it was found.
EpiloguePhase getEpiloguePhase(TiledLinearOp op);

/// Emits the op's region on a tile's accumulators, and the stores of its
/// results. `accumulators` are in blocks of 16 rows by 8 columns, as mma.sync
/// leaves them (MmaSync/WarpProduct.h).
///
/// Each warp turns its accumulators, 8 rows at a time, through its own 2 KB of
/// shared memory, so that a thread has neighbouring elements of a row: whole
/// 16-byte accesses to [M, N] tensors, and operands with one value a feature
/// loaded once for all rows. No warp waits for another.
///
/// With `finished`, what it found of columns is known: `accumulators` are what
/// the region's reduction takes, and what follows it is emitted.
void emitTileEpilogue(TiledFrame &frame, TiledLinearOp op, const WorkItem &item,
                      ValueRange accumulators,
                      const FinishedColumns *finished = nullptr);

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_TILEEPILOGUE_H
