//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The columns of a tile with swapped operands that a thread has, two of
// every 64.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_SWAPPED_SWAPPEDCOLUMNS_H
#define TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_SWAPPED_SWAPPEDCOLUMNS_H

#include "Codegen/CUDA/Emit/ElementEmitter.h"
#include "Codegen/CUDA/Tiled/FinishedColumns.h"
#include "Codegen/CUDA/Tiled/WorkPartition.h"
#include "SwappedPlan.h"

namespace mlir::tenon {

class SwappedColumns {
public:
  SwappedColumns(TiledFrame &frame, const SwappedPlan &plan)
      : frame(frame), b(frame.b), plan(plan) {}

  /// The thread's `number`-th column of the tile.
  Value getInTile(int64_t number);
  /// The number of an accumulator's column, among the thread's.
  size_t getNumber(size_t accumulator) const;

  /// Loads what is the same in all rows: of all columns, or of number `block`
  /// of 64.
  void prepare(const WorkItem &item);
  void prepare(const WorkItem &item, int64_t block);
  void forget();

  // Of what is prepared.
  SmallVector<std::unique_ptr<ElementEmitter>> emitters;
  SmallVector<Value> indices, inRange; ///< i64, i1 or null
  /// What a reduction found of the tile's columns, or null.
  const FinishedColumns *finished = nullptr;

private:
  TiledFrame &frame;
  KernelBuilder &b;
  const SwappedPlan &plan;
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_SWAPPED_SWAPPEDCOLUMNS_H
