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
  /// `reduced`: what is, in the place of the reduction's input.
  FinishedColumns(TiledFrame &frame, ReductionEpilogueOp reduction,
                  Value reduced);

  /// The tensors for which the elements that were reduced stand in what
  /// follows: the reduction's input, as `emitApply` takes it, and what is.
  ArrayRef<Value> getGiven() const { return given; }

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
  SmallVector<Value> given;
  /// For each scalar: the operand that it is, or null if it is in the table.
  SmallVector<Value> sources;
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_FINISHEDCOLUMNS_H
