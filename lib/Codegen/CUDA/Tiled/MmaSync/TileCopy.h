//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// cp.async: tiles of x and w from global to shared memory.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_MMASYNC_TILECOPY_H
#define TENON_LIB_CODEGEN_CUDA_TILED_MMASYNC_TILECOPY_H

#include "Codegen/CUDA/Tiled/WorkPartition.h"

namespace mlir::tenon {

/// Copies tiles of `rowBytes` a row into a stage of shared memory, x's rows and
/// then those of each w. A thread copies 16 bytes of every `rowsPerCopy`-th
/// row. Chunk c of row r lies at c ^ (r mod 8), or c ^ (r / 2 mod 4) where rows
/// have 64 bytes, so that neither copies nor ldmatrix meet a bank twice.
///
/// Rows beyond M or N are the last row again: nothing is stored of them. Beyond
/// K there are zeros.
///
/// Of a matrix that is given transposed a chunk's elements are copied one by
/// one, since each is of another row of memory.
class TileCopy {
public:
  explicit TileCopy(TiledFrame &frame);

  /// Starts the copies of a turn's first stages, all but one, where `isReal`.
  /// Every warp must have loaded what it needs of them from the turn before.
  void start(const WorkItem &item, Value isReal);

  unsigned getCount() {
    const TileGeometry &geometry = frame.geometry;
    return geometry.copiesOfX() + geometry.weights * geometry.copiesOfW();
  }
  /// Where the copies of a tile begin in global memory, at K tile `kTile`.
  SmallVector<Value> getSources(const WorkItem &item, Value kTile);
  /// The same for copyNext: one opaque pointer a copy. Where LLVM or ptxas
  /// derive them from one base, each addition waits until the copy before it
  /// has read its address.
  SmallVector<Value> getMovingSources(const WorkItem &item, Value kTile);
  /// The stage after the one that begins at byte `stage`, round in the ring.
  Value getNextStage(Value stage);
  /// Where copy 0 goes in a stage that begins at byte `stage` of shared memory;
  /// the others are at constant distances.
  Value getTarget(Value stage) { return b.offset(target, stage); }
  /// What is left of the thread's 16 bytes in K tile `kTile`; null where it is
  /// always all of them.
  Value getValidBytes(Value kTile);
  /// Copy number `index`, from `source`, where `isReal`.
  void copy(unsigned index, Value target, Value source, Value isReal,
            Value validBytes);
  /// The same from the next K tile, to which `source` moves on.
  void copyNext(unsigned index, Value target, Value &source, Value isReal,
                Value validBytes);
  /// Ends a group of copies; waits until all but the last `count` are done.
  void commit();
  void wait(unsigned count);

private:
  Value getRowSource(Value matrix, Value firstRow, Value rows, unsigned copy,
                     int64_t rowBytes);
  /// Elements from one to the next along K, of what copy number `index` copies.
  int64_t getStride(unsigned index);
  void copyWhole(Value address, int64_t offset, Value source, Value isReal,
                 Value validBytes);
  void copyParts(Value address, int64_t offset, Value source, int64_t stride,
                 Value isReal, Value validBytes);
  void copyElements(Value address, int64_t offset, Value source, int64_t stride,
                    Value isReal, Value validBytes);
  void copyNarrow(Value address, int64_t offset, Value source, Value isReal,
                  Value validBytes);

  TiledFrame &frame;
  KernelBuilder &b;
  Value row, chunk; ///< of the thread's first copy
  Value target;     ///< of the thread's first copy in stage 0
  Value tailBytes;  ///< what is valid of its chunk in the last K tile
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_MMASYNC_TILECOPY_H
