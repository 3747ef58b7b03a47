//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a reduction within a kernel found for the columns of a tile.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_FINISHEDCOLUMNS_H
#define TENON_LIB_CODEGEN_CUDA_TILED_FINISHEDCOLUMNS_H

#include "Codegen/CUDA/Emit/ElementEmitter.h"
#include "TiledFrame.h"

namespace mlir::tenon {

/// The scalars that `emitApply` takes, of every column of the tile: in a table
/// in shared memory, but for those that are operands of the reduction as they
/// are, which each thread loads again where it needs them.
class FinishedColumns {
public:
  FinishedColumns(TiledFrame &frame, ReductionEpilogueOp reduction);

  Value getReducedInput() const {
    return ReductionEpilogueOp(reduction).getReducedInput();
  }

  /// Scalars of a column that the table has.
  size_t getNumKept() const { return llvm::count(sources, Value()); }
  /// Those, of what `emitFinish` gave for a column.
  SmallVector<Value> getKept(ArrayRef<Value> finished) const;
  /// Stores that for a column of the tile.
  void store(Value inTile, ArrayRef<Value> kept);

  /// Loads the operands of an emitter's lanes.
  void loadOperands(ElementEmitter &emitter, unsigned lanes) const;
  /// Tells `emitter` the scalars of `lanes` columns of the tile from `inTile`
  /// on.
  void set(ElementEmitter &emitter, Value inTile, unsigned lanes) const;
  /// Those of this thread's fragment of the 8 columns that start at `inTile`.
  void setFragment(ElementEmitter &emitter, int64_t inTile) const;

private:
  void findSources();
  Value getPlace(Value inTile) const;

  TiledFrame &frame;
  KernelBuilder &b;
  ReductionEpilogueOp reduction;
  /// For each scalar: the operand that it is, or null if it is in the table.
  SmallVector<Value> sources;
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_FINISHEDCOLUMNS_H
