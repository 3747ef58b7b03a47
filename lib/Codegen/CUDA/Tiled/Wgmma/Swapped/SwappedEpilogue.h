//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The epilogue of a wgmma kernel with swapped operands.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_SWAPPED_SWAPPEDEPILOGUE_H
#define TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_SWAPPED_SWAPPEDEPILOGUE_H

#include "Codegen/CUDA/Emit/ElementEmitter.h"
#include "Codegen/CUDA/Tiled/FinishedColumns.h"
#include "Codegen/CUDA/Tiled/Wgmma/Subtiles/DeferredEpilogue.h"
#include "Codegen/CUDA/Tiled/Wgmma/Subtiles/SubtileCopies.h"
#include "SwappedMoments.h"

namespace mlir::tenon {

/// Finishes tiles on the accumulators of the transposed product as they are: of
/// every 64 columns a thread has two, 8 apart, and of every 8 rows two
/// neighbours. So it loads what it needs of an operand with one value a column
/// once a tile.
///
/// What has M x N elements TMA moves, subtile by subtile, as TmaEpilogue.h has
/// it. Where TMA cannot, threads load and store their elements themselves.
class SwappedEpilogue : public DeferredEpilogue {
public:
  SwappedEpilogue(TiledFrame &frame, TiledLinearOp op,
                  std::optional<EpilogueSubtiles> subtiles);

  /// Null if the threads move all themselves.
  SubtileCopies *getCopies() { return copies ? &*copies : nullptr; }

  /// `found` is what a reduction found of the tile's columns, when a tile is
  /// finished; `emit` then takes what was reduced.
  void setFinished(const FinishedColumns &found) { finished = &found; }
  /// The thread's `number`-th column of the tile.
  Value getColumnInTile(int64_t number);
  /// The number of an accumulator's column, among the thread's.
  size_t getColumn(size_t accumulator) const;

  /// While the last products of a turn are computed: loads the operands that
  /// have one value a column, if TMA moves the others and there are registers
  /// for them.
  void prepare(const WorkItem &item);
  /// Finishes a tile. `accumulators` are as WarpgroupProduct gives them.
  void emit(const WorkItem &item, ValueRange accumulators);

  // The parts of that: all subtiles one after the other, then the end.
  /// Of how many blocks of 8 rows a subtile consists.
  unsigned getSubtileBlocks() const;
  /// How many subtiles have the same columns.
  int64_t getSubtilesOfColumns() const;
  /// The first of its rows in the tile.
  Value getFirstRow(Value number);
  /// The first of a thread's columns that a subtile has; where `number` is
  /// found out at run time, that of all that are held.
  unsigned getFirstColumn(Value number);
  /// Emits where a block's elements come from: two of each of two columns.
  using GetElements = llvm::function_ref<SmallVector<Value>(unsigned block)>;
  /// Loads what all subtiles need of operands of one value a row or a column.
  void prepareAll(const WorkItem &item);
  void emitSubtile(const WorkItem &item, int64_t number,
                   GetElements getElements);
  void endTile();

  // A thread holds as many elements as it has registers for: accumulators, or
  // what the epilogue's first op makes of them. Of a long epilogue it holds the
  // whole tile, if that may be rounded to 16 bits: what is done beside products
  // costs little.
  void prepareTile(const WorkItem &item) override;
  SmallVector<Value> hold(const WorkItem &item, Value turn,
                          ValueRange accumulators) override;
  SmallVector<Type> getHeldTypes() override;
  void prepareHeld(const WorkItem &item) override;
  int64_t getNumSteps() override;
  bool isLoop() override;
  int64_t getStepsOfBody(bool besideProducts) override;
  bool isSpread() override;
  SmallVector<Value> loadStep(const WorkItem &item, DeferredStep step) override;
  void emitStep(const WorkItem &item, Value turn, DeferredStep step,
                ValueRange loaded, ValueRange held) override;
  void endHeld() override { endTile(); }
  bool isLate() override { return false; }

private:
  class Subtile;
  void emitBlocks(const WorkItem &item, Value number, unsigned begin,
                  unsigned end, ValueRange ofStep, Value tensor,
                  GetElements getElements);
  void emitSubtiles(const WorkItem &item, int64_t count, int64_t together,
                    ValueRange accumulators);
  unsigned getStepBlocks();
  Value getSubtile(DeferredStep step);
  void prepareOperands(const WorkItem &item, int64_t first, int64_t end);
  bool loadsRowsAhead();
  /// What the lane has of `operand` for `count` rows from the tile's
  /// `first`-th.
  SmallVector<Value> loadRows(const WorkItem &item, BlockArgument operand,
                              int64_t first, int64_t count);
  /// What `operand` has for an even row and the next, in its compute type.
  SmallVector<Value> loadRowPair(BlockArgument operand, Value row);
  /// Loads the rows' operands that subtiles `first` to `end` need.
  void prepareRows(const WorkItem &item, int64_t first, int64_t end);
  /// What number `operand` of `perRow`, loaded ahead, has for row `row` of the
  /// thread's two of a block, which begins with the tile's row `first`.
  Value getOfRow(unsigned operand, Value first, unsigned row);
  void prepareColumns(const WorkItem &item);
  void prepareColumns(const WorkItem &item, int64_t block);
  void addMoments(Value value, ValueRange elements);
  void storeMoments(const WorkItem &item, int64_t number);
  Value getComputed();
  bool isLong() const;
  int64_t getStepsOfSubtile();
  bool mayBeLoop();
  int64_t getNumThreadOperands();
  bool isRoomy();
  int64_t getNumHidden();
  int64_t getMostHeld();
  Type findHeldType();
  Value getHeldTensor();
  int64_t getPause();
  SmallVector<Value> copyHeld(ValueRange accumulators);
  SmallVector<Value> getHeldBlock(ValueRange held, unsigned block);
  int64_t getFirstHeld();
  void forgetOperands();

  TiledFrame &frame;
  KernelBuilder &b;
  TiledLinearOp op;
  EpiloguePlan plan;
  std::optional<SubtileCopies> copies;
  const FinishedColumns *finished = nullptr;
  Type heldType; ///< to which a whole tile is rounded and held, or null
  int64_t rows;  ///< of a subtile
  SmallVector<BlockArgument> perRow; ///< operands that the threads load by row
  /// Of each of these, if it is loaded ahead, what the lane has of each 32 rows
  /// from the tile's `firstOfRows`-th on.
  SmallVector<SmallVector<Value>> ofRows;
  int64_t firstOfRows = 0;
  /// Of what is stored, by the region's value.
  SmallVector<std::pair<Value, SwappedMoments>> moments;
  /// Of the tile's columns that the thread has, two for every 64.
  SmallVector<std::unique_ptr<ElementEmitter>> emitters;
  SmallVector<Value> columns, columnsInRange; ///< theirs; i64, i1 or null
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_SWAPPED_SWAPPEDEPILOGUE_H
