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

#ifndef TENON_LIB_CODEGEN_CUDA_SM90_FINISHEDCOLUMNS_H
#define TENON_LIB_CODEGEN_CUDA_SM90_FINISHEDCOLUMNS_H

#include "../ElementEmitter.h"
#include "../Tiled/TiledFrame.h"

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

  /// Stores what `emitFinish` gave for a column of the tile.
  void store(Value inTile, ArrayRef<Value> finished);

  /// Loads the operands of an emitter's lanes.
  void loadOperands(ElementEmitter &emitter) const;
  /// Tells `emitter` the scalars of this thread's columns of the 8 that start
  /// at `inTile`.
  void set(ElementEmitter &emitter, int64_t inTile) const;

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

#endif // TENON_LIB_CODEGEN_CUDA_SM90_FINISHEDCOLUMNS_H
