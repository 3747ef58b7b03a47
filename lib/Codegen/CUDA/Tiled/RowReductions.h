//===- RowReductions.h - Reductions of a tile's rows ----------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// reduction = in_tile: a tile has whole rows, which are reduced between product
// and epilogue. What was found lies in shared memory, where the epilogue reads
// it as an operand of one value a row. Groups of columns: TileGroups.h.
//
// reduction = reduce_only: what a tile has of its rows is reduced, and stored.
// Nothing follows, so what was found stays in registers.
//
// reduction = resident_rows: the same, but then tiles exchange what they have,
// and the epilogue follows.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_ROWREDUCTIONS_H
#define TENON_LIB_CODEGEN_CUDA_TILED_ROWREDUCTIONS_H

#include "RowExchange.h"
#include "WorkPartition.h"

namespace mlir::tenon {

class RowReductions {
public:
  /// The op's region has been cut (Emit/RowPhases.h).
  RowReductions(TiledFrame &frame, TiledLinearOp op);

  /// Reduces a tile's rows, one reduction after the other, and stores what the
  /// op yields of one value a row. From here on `frame.operands` tells where
  /// what was found lies. `accumulators` are in blocks of 16 rows by 8 columns;
  /// returns what the region's first argument stands for in the end.
  ///
  /// Where tiles wait for each other it is of turn number `turn` of `turns`.
  SmallVector<Value> emit(const WorkItem &item, ValueRange accumulators,
                          Value turn = Value(), Value turns = Value());

  // Where tiles wait for each other, and a warp is beside those that multiply.
  /// Before a warpgroup's first turn, `first`.
  void start(Value first, Value turns);
  /// After the last of `turns` turns, in that warp, or where there is none in
  /// one that multiplies, behind a barrier.
  void clear(Value turns) { exchange->end.clear(turns); }

private:
  /// Of each of the thread's rows.
  using States = SmallVector<ReduceRowOp::State>;
  using Results = SmallVector<Value>;

  int64_t getRow(int64_t number) const;
  States reduceColumns(const RowPhase &phase, const WorkItem &item,
                       ValueRange accumulators);
  Value getColumns(const WorkItem &item);
  void meetWarps(ReduceRowOp op, States &states, unsigned number);
  void store(Value array, ArrayRef<Value> values);
  Value getArray(int64_t number);
  void finish(const RowPhase &phase, unsigned number, const WorkItem &item,
              const States &states);
  void keepResult(unsigned number, const WorkItem &item,
                  const Results &results);
  void emitExchange(const WorkItem &item, Value turn, Value turns);
  void storeResults(const WorkItem &item);

  TiledFrame &frame;
  KernelBuilder &b;
  TiledLinearOp op;
  int64_t numRows;                     ///< of a thread
  std::optional<RowExchange> exchange; ///< with reduction = resident_rows
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_ROWREDUCTIONS_H
