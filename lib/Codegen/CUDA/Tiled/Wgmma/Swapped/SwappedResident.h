//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The epilogue of a wgmma kernel that reduces columns, with swapped operands.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_SWAPPED_SWAPPEDRESIDENT_H
#define TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_SWAPPED_SWAPPEDRESIDENT_H

#include "Codegen/CUDA/Tiled/ResidentReduction.h"
#include "SwappedEpilogue.h"

namespace mlir::tenon {

/// Finishes tiles of a region with one reduction along M. A warp has its
/// columns to itself, so its threads reduce, exchange and finish them, and no
/// warp waits for another.
///
/// With defer, where results are of 16 bits, a thread has registers for a
/// second tile of them. Then what an exchange takes, and all that follows it,
/// is hidden by the next turn's products. What is held is rounded once more
/// than it would be, as are the elements that PyTorch's batch norm reads; but
/// only what they differ by from their column's mean is. Where the layer
/// returns what is reduced, that is held as it is returned.
class SwappedResident : public ResidentReduction, public DeferredEpilogue {
public:
  SwappedResident(TiledFrame &frame, TiledLinearOp op,
                  SwappedEpilogue &swapped);

  /// Finishes a turn. `accumulators` are as WarpgroupProduct gives them.
  void emit(const WorkItem &item, Value turn, Value turns,
            ValueRange accumulators);
  /// After the last of `turns` turns, in a warp that does not multiply.
  void clear(Value turns) { exchange.end.clear(turns); }

  /// Whether a tile is held beside the next turn's products. Else tiles are
  /// finished as a whole: without defer, where results are not all of one type
  /// of 16 bits, or where K has not enough stages.
  bool defers() { return heldType != Type(); }
  // All of a tile is held: what is reduced, as distances from the origins of
  // its columns' states, rounded, two in a vector; then these origins, f32. In
  // f16 a distance is over a power of two near what is held, which follows.
  // What is returned is held as it is. A PanelFinisher exchanges states
  // meanwhile.
  void prefetch(const WorkItem &item) override {
    ResidentReduction::prefetch(item);
  }
  SmallVector<Value> hold(const WorkItem &item, Value turn,
                          ValueRange accumulators) override;
  SmallVector<Type> getHeldTypes() override;
  void prepareHeld(const WorkItem &item) override { swapped.prepareAll(item); }
  void emitStep(const WorkItem &item, Value turn, DeferredStep step,
                ValueRange loaded, ValueRange held) override;
  int64_t getNumSteps() override;
  void endHeld() override { swapped.tile.end(); }
  bool isLate() override { return true; }

private:
  Type findHeldType();
  using Body = llvm::function_ref<void(Value, const ReductionState &)>;
  SmallVector<Value> computeReduced(const WorkItem &item,
                                    ValueRange accumulators);
  SmallVector<ReductionState> reduceColumns(const WorkItem &item,
                                            SmallVector<Value> &elements);
  SmallVector<Value> scaleDistances(SmallVector<Value> &distances,
                                    ArrayRef<ReductionState> states);
  void emitForOwn(ArrayRef<ReductionState> states, Body body);
  void storeStates(Value turn, ArrayRef<ReductionState> states);
  /// What is reduced of a tile, its distances from the origins of its columns'
  /// states, and these.
  struct ReducedTile {
    SmallVector<Value> elements, distances;
    SmallVector<ReductionState> states;
  };
  ReducedTile reduceTile(const WorkItem &item, Value turn,
                         ValueRange accumulators);
  SmallVector<Value> getHeldBlock(ValueRange held, int64_t block);

  SwappedEpilogue &swapped;
  bool isReturned; ///< what is reduced, as it is rounded
  Type heldType;   ///< that elements are rounded to; null: none are held
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_SWAPPED_SWAPPEDRESIDENT_H
