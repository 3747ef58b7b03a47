//===- RowExchange.h - Rows reduced by several tiles ------------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_ROWEXCHANGE_H
#define TENON_LIB_CODEGEN_CUDA_TILED_ROWEXCHANGE_H

#include "PanelEnd.h"

#include "tenon/Schedule/Checks/RowParts.h"

namespace mlir::tenon {

/// Combines what the four lanes that have a row found of it, for each of
/// several rows.
void reduceLanes(TiledFrame &frame, ReduceRowOp op,
                 MutableArrayRef<ReduceRowOp::State> states);

/// reduction = resident_rows: the tiles of a row, or of a group of its columns,
/// are at work together. Each reduces the part that it has, publishes a number
/// for each reduction, and combines what all have published, always in one
/// order, so that all get the same bits. The four lanes that have a row divide
/// its parts, so no warp waits for another of its block.
class RowExchange {
public:
  RowExchange(TiledFrame &frame, TiledLinearOp op);

  /// Keeps what a reduction of the tile's part of a row has combined, and
  /// returns what is to stand for the result within the tile.
  Value finishPart(unsigned phase, const WorkItem &item, Value combined,
                   int64_t rowNumber);
  /// Publishes what was found of the thread's rows of the tile in a turn.
  void publish(const WorkItem &item, Value turn, ArrayRef<Value> inTile);
  /// The results of all reductions for the thread's row by that number.
  SmallVector<Value> combine(Value turn, int64_t rowNumber, Value row);
  /// After a turn.
  void forget();

private:
  PanelMemory memory;

public:
  PanelEnd end;

private:
  using Numbers = SmallVector<Value, kMaxExchangedNumbers>;
  /// Numbers of the parts of a batch, which of them exist (null: all do), and
  /// how many columns each has.
  struct Batch {
    SmallVector<Numbers> parts;
    SmallVector<Value> valid, columns;
  };
  using Step = llvm::function_ref<Value(const Numbers &, Value columns)>;

  int64_t getNumBatches();
  int64_t getBatchParts();
  SmallVector<Batch> load(Value turn, ArrayRef<Value> inTile, Value number);
  Value reduce(unsigned phase, Value turn, int64_t rowNumber, Step getTerm);
  Value getShift(unsigned phase, Value row, const Numbers &results);
  Value getLocal(unsigned phase, Value number);
  Value getTerm(unsigned phase, Value row, const Numbers &part, Value columns,
                Value shift);

  TiledFrame &frame;
  KernelBuilder &b;
  SmallVector<RowPart> parts; ///< of each phase
  // Of a turn:
  SmallVector<Value> rowsInTile; ///< the thread's
  SmallVector<Numbers> found;    ///< of each row's part in the tile, by phase
  SmallVector<Batch> kept;       ///< of rows that have one each
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_ROWEXCHANGE_H
