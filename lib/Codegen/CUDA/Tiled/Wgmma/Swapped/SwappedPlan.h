//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is held of a tile with swapped operands, and in which steps it is
// finished.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_SWAPPED_SWAPPEDPLAN_H
#define TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_SWAPPED_SWAPPEDPLAN_H

#include "Codegen/CUDA/Tiled/Wgmma/Subtiles/EpilogueSubtiles.h"

#include "tenon/Dialect/Tenon/Analysis/EpiloguePlan.h"

namespace mlir::tenon {

/// What a thread has of a block of 8 rows and 64 columns: two columns of two.
struct SwappedBlock {
  static constexpr unsigned kColumns = 2, kRows = 2,
                            kElements = kColumns * kRows;
  static constexpr int64_t kBlockRows = 8;
};

/// Decides before anything is emitted.
///
/// A thread holds as many elements as it has registers for: accumulators, or
/// what the epilogue's first op makes of them. Of a long epilogue it holds the
/// whole tile, if that may be rounded to 16 bits: what is done beside products
/// costs little.
class SwappedPlan {
public:
  /// `subtiles` is null where the threads move all themselves.
  SwappedPlan(const TileGeometry &geometry, TiledLinearOp op,
              const EpilogueSubtiles *subtiles);

  /// What the epilogue computes: what comes after a reduction, if the region
  /// has one.
  const EpiloguePhase &getPhase() const { return plan.getPhases().back(); }
  /// The operands that the threads load by row.
  ArrayRef<BlockArgument> getRowOperands() const { return rowOperands; }
  /// Whether the epilogue takes longer than a stage's products.
  bool isLong() const;

  // Subtiles.
  /// Rows of one, and of how many blocks of 8 rows it consists.
  int64_t getSubtileRows() const { return rows; }
  unsigned getSubtileBlocks() const;
  /// Accumulators of a block, and what is held of them: of one product after
  /// the other.
  unsigned getBlockElements() const {
    return products.size() * SwappedBlock::kElements;
  }
  /// How many have the same columns.
  int64_t getSubtilesOfColumns() const;

  // What is held.
  /// To which a whole tile is rounded and held, or null.
  Type getHeldType() const { return heldType; }
  SmallVector<Value> getHeldTensors() const;
  int64_t getFirstHeld() const;
  SmallVector<Type> getHeldTypes() const;

  // The steps that finish it (DeferredEpilogue).
  bool isLoop() const;
  unsigned getStepBlocks() const;
  int64_t getStepsOfSubtile() const;
  int64_t getNumSteps() const;
  int64_t getStepsOfBody(bool besideProducts) const;
  bool isSpread() const;
  int64_t getPause() const;

private:
  bool mayBeLoop() const;
  Type findHeldType() const;
  int64_t getNumThreadOperands() const;
  int64_t getNumHidden() const;
  bool isRoomy() const;
  int64_t getMostHeld() const;
  int64_t getStagesOfSteps() const {
    return getNumSteps() * (isSpread() ? 2 : 1);
  }

  const TileGeometry &geometry;
  SmallVector<Value> products;
  EpiloguePlan plan;
  const EpilogueSubtiles *subtiles;
  int64_t rows;
  SmallVector<BlockArgument> rowOperands;
  bool givesMoments;
  Type heldType;
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_SWAPPED_SWAPPEDPLAN_H
