//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How a tiled kernel's threads divide a tile.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_TILEGEOMETRY_H
#define TENON_LIB_CODEGEN_CUDA_TILED_TILEGEOMETRY_H

#include "tenon/Dialect/Tenon/IR/Tenon.h"
#include "tenon/Schedule/Checks/ScheduleFamily.h"

namespace mlir::tenon {

class TiledFamily;

/// The numbers of a tiled kernel that are known when it is built: the product's
/// N and K, its schedule, and what follows from them.
struct TileGeometry {
  TileGeometry(TiledLinearOp op, ScheduleAttr schedule, bool isAligned);

  bool isAligned; ///< whether every pointer is a multiple of 16 bytes
  int64_t m;      ///< ShapedType::kDynamic where it is not known
  int64_t n, k;
  SmallVector<int64_t> termColumns; ///< K of each term, k of the first
  bool turnsX, turnsW;              ///< whether x is [K, M], and w [K, N]
  Type sourceType;                  ///< of x and w
  /// As which they are multiplied: f16 in the place of 8 bits, where these are
  /// copied one by one.
  Type elementType;
  unsigned sourceBytes, elementBytes;
  ScheduleAttr schedule;
  const TiledFamily *family;
  int64_t tileM, tileN, tileK, warpsM, warpsN, stages, rowBytes;
  int64_t weights; ///< of each a tile's N columns
  int64_t clusterM,
      clusterN; ///< tiles of a cluster, whose blocks work together
  /// Bytes of x and w copied at a time, 16 at most.
  unsigned copyBytes;
  /// Neighbouring elements of a row that a thread finishes at a time: 16 bytes
  /// of the narrowest matrix, or as many as divide N.
  unsigned lanes;
  /// Whether f32 is rounded to tf32 as it is multiplied. Elsewhere it is
  /// before: by an op of its own, or by TMA.
  bool roundsTf32;
  /// Whether the op's factors are those of blocks, and this kernel multiplies
  /// their bytes.
  bool hasBlockScales;
  bool hasScalesByColumn;   ///< those of x, one vector
  int64_t instructionWarps; ///< TiledFamily::Traits
  int64_t groups = 1;       ///< of columns, which the region reduces one by one
  /// In a launch of several layers: column units of those before this one.
  std::optional<int64_t> columnUnitsBefore;

  bool isFma() const { return !schedule.getMethodTraits().usesTensorCores; }
  /// Those that multiply a tile. A wgmma kernel has others beside them.
  int64_t threads() const { return 32 * warpsM * warpsN; }
  int64_t blockThreads() const { return getBlockThreads(schedule); }
  bool hasOtherWarps() const { return threads() != blockThreads(); }
  int64_t warpM() const { return tileM / warpsM; }
  int64_t warpN() const { return tileN / warpsN; }

  // What wgmma computes: blocks of 64 rows, as many of them for a warpgroup, by
  // columns. With swapped operands its rows are columns of the tile.
  bool isSwapped() const { return schedule.hasSwappedOperands(); }
  int64_t wgmmaBlocks() const { return (isSwapped() ? warpN() : warpM()) / 16; }
  int64_t wgmmaColumns() const { return isSwapped() ? tileM : weights * tileN; }
  /// Of several weights: wgmmas, as rows of w one below another or as columns
  /// side by side.
  int64_t productBlocks() const {
    return (isSwapped() ? weights : 1) * wgmmaBlocks();
  }

  /// The first row of the tile that the `warp`-th warp along M has.
  int64_t getFirstRow(int64_t warp) const {
    int64_t inGroup = warp % instructionWarps;
    return (warp - inGroup) * warpM() + inGroup * 16;
  }
  /// Rows from one of a warp's blocks of 16 to its next.
  int64_t rowBlockStride() const { return 16 * instructionWarps; }
  /// Whether warps share the rows of a matrix instruction, as the four of a
  /// warpgroup do. A warp that shares none has all its rows one below another.
  bool sharesInstructions() const { return instructionWarps != 1; }

  // A cluster takes `clusterM` by `clusterN` tiles at a time.
  int64_t clusterBlocks() const { return clusterM * clusterN; }
  int64_t unitM() const { return tileM * clusterM; }
  int64_t unitN() const { return tileN * clusterN; }

  // Along M, N and K.
  int64_t rowUnits() const { return llvm::divideCeil(m, unitM()); } // static M
  int64_t columnUnits() const { return llvm::divideCeil(n, unitN()); }
  int64_t getKTiles(unsigned term) const {
    return llvm::divideCeil(termColumns[term], tileK);
  }
  int64_t kTiles() const; ///< of all terms
  bool hasKTail() const { return k % tileK != 0; }

  // Copies: rows of `rowBytes` in chunks of 16 bytes; the block's threads take
  // `rowsPerCopy` rows at a time.
  int64_t chunksPerRow() const { return rowBytes / 16; }
  /// Bytes of x or w of which as many are made in shared memory.
  int64_t toSource(int64_t bytes) const {
    return bytes / elementBytes * sourceBytes;
  }
  int64_t rowsPerCopy() const { return threads() / chunksPerRow(); }
  /// Of x, and of each weight.
  int64_t copiesOfX() const { return tileM / rowsPerCopy(); }
  int64_t copiesOfW() const { return tileN / rowsPerCopy(); }
  int64_t stageBytes() const { return (tileM + weights * tileN) * rowBytes; }
  /// Matrices that are multiplied: of several terms or weights, each.
  int64_t numMultiplied() const {
    return weights + 2 * std::ssize(termColumns) - 1;
  }
  /// Where a stage has the rows of a weight, behind those of x.
  int64_t getWeightOffset(int64_t weight) const {
    return (tileM + weight * tileN) * rowBytes;
  }
  /// Of an operand that lies along M or N in a stage as it does in memory: a
  /// row of it has as many elements of M or N, and one of K.
  int64_t turnedExtent() const { return rowBytes / elementBytes; }

  // The epilogue: a warp turns 8 rows by `passColumns` columns at a time.
  static constexpr int64_t kPassRows = 8;
  int64_t passColumns() const {
    return warpN() % 64 == 0 ? std::min<int64_t>(64, 32 * lanes) : 32;
  }
  int64_t threadsPerRow() const { return passColumns() / lanes; }
  int64_t rowsPerStep() const { return 32 / threadsPerRow(); }

  // Shared memory, by offset.
  int64_t epilogueOffset() const { return stages * stageBytes(); }
  int64_t scalarsOffset() const {
    return epilogueOffset() +
           ScheduleFamily::of(schedule).getEpilogueBytes(schedule);
  }
  int64_t barriersOffset() const {
    return scalarsOffset() + blockThreads() / 32 * kScalarBytesPerWarp;
  }
  /// With reduction = resident: a table (FinishedColumns.h), and with defer its
  /// barrier. Where rows are reduced: arrays (RowReductions.h).
  int64_t finishedBarrierOffset() const { return finishedOffset() - 16; }
  int64_t finishedOffset() const {
    return barriersOffset() +
           ScheduleFamily::of(schedule).getBarrierBytes(schedule);
  }
  bool isReduceOnly() const {
    return schedule.getReduction() == ReductionMethod::ReduceOnly;
  }
  bool isResident() const {
    return schedule.getReduction() == ReductionMethod::Resident;
  }
  bool hasResidentRows() const {
    return schedule.getReduction() == ReductionMethod::ResidentRows;
  }
  /// Whether a tile has several groups of columns, each of which a warp
  /// reduces.
  bool hasGroupsInTile() const {
    return schedule.getReduction() == ReductionMethod::InTile && groups != 1;
  }
  /// Columns of a row that are reduced together, and tiles that have them where
  /// rows are resident: of one nothing is exchanged.
  int64_t groupColumns() const { return n / groups; }
  int64_t rowParts() const { return llvm::divideCeil(groupColumns(), tileN); }
  bool exchangesRows() const { return hasResidentRows() && rowParts() != 1; }
  /// Whether tiles wait for each other.
  bool waits() const { return isResident() || exchangesRows(); }
  /// Units that have them, one beside the other, where tiles exchange what they
  /// have of a row; else 1.
  int64_t teamUnits() const {
    return hasResidentRows() ? llvm::divideCeil(groupColumns(), unitN()) : 1;
  }

  /// Whether rows or columns of a tile may lie beyond M or N: all of them may,
  /// where a cluster takes more tiles than there are.
  bool hasRaggedRows() const {
    return ShapedType::isDynamic(m) || m % unitM() != 0;
  }
  bool hasRaggedColumns() const { return n % unitN() != 0; }
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_TILEGEOMETRY_H
