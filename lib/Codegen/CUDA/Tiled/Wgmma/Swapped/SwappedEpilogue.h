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

#include "Codegen/CUDA/Tiled/Wgmma/Subtiles/DeferredEpilogue.h"
#include "SwappedTile.h"

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

  /// While the last products of a turn are computed: loads the operands that
  /// have one value a column, if TMA moves the others and there are registers
  /// for them.
  void prepare(const WorkItem &item);
  /// Finishes a tile. `accumulators` are as WarpgroupProduct gives them.
  void emit(const WorkItem &item, ValueRange accumulators);

  // The parts of that: all subtiles one after the other, then the end.
  /// Emits where a block's elements come from: two of each of two columns, of
  /// one product after the other.
  using GetElements = llvm::function_ref<SmallVector<Value>(unsigned block)>;
  /// Loads what all subtiles need of operands of one value a row or a column.
  void prepareAll(const WorkItem &item);
  void emitSubtile(const WorkItem &item, int64_t number,
                   GetElements getElements);

  void prepareTile(const WorkItem &item) override;
  SmallVector<Value> hold(const WorkItem &item, Value turn,
                          ValueRange accumulators) override;
  SmallVector<Type> getHeldTypes() override { return tile.plan.getHeldTypes(); }
  void prepareHeld(const WorkItem &item) override;
  int64_t getNumSteps() override { return tile.plan.getNumSteps(); }
  bool isLoop() override { return tile.plan.isLoop(); }
  int64_t getStepsOfBody(bool besideProducts) override {
    return tile.plan.getStepsOfBody(besideProducts);
  }
  bool isSpread() override { return tile.plan.isSpread(); }
  SmallVector<Value> loadStep(const WorkItem &item, DeferredStep step) override;
  void emitStep(const WorkItem &item, Value turn, DeferredStep step,
                ValueRange loaded, ValueRange held) override;
  void endHeld() override { tile.end(); }
  bool isLate() override { return false; }

  SwappedTile tile;

private:
  void emitBlocks(const WorkItem &item, Value number, unsigned begin,
                  unsigned end, ValueRange ofStep, ValueRange tensors,
                  GetElements getElements);
  void emitSubtiles(const WorkItem &item, int64_t count, int64_t together,
                    ValueRange accumulators);
  void prepareOperands(const WorkItem &item, int64_t first, int64_t end);
  Value getSubtile(DeferredStep step);
  SmallVector<Value> getComputed();
  SmallVector<Value> getByBlock(ValueRange accumulators);
  SmallVector<Value> copyHeld(ValueRange accumulators);
  SmallVector<Value> getHeldBlock(ValueRange held, unsigned block);

  TiledFrame &frame;
  KernelBuilder &b;
  TiledLinearOp op;
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_SWAPPED_SWAPPEDEPILOGUE_H
