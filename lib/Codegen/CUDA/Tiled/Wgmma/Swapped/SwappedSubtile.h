//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A subtile of the epilogue with swapped operands.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_SWAPPED_SWAPPEDSUBTILE_H
#define TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_SWAPPED_SWAPPEDSUBTILE_H

#include "SwappedFragments.h"
#include "SwappedTile.h"

namespace mlir::tenon {

/// A subtile while it is computed.
class SwappedSubtile {
public:
  /// `ofStep` is what SwappedRows::loadBlocks gave for the blocks that are
  /// loaded.
  SwappedSubtile(SwappedTile &tile, const WorkItem &item, Value number,
                 ValueRange ofStep);

  /// For blocks `begin` to `end`.
  void loadOperands(unsigned begin, unsigned end);
  /// `elements` are of `tensors`, values of the region, one after the other, or
  /// of each of them.
  void emitBlock(unsigned block, ValueRange tensors, ValueRange elements);

private:
  void setOfRows(unsigned block);
  Value getOfRow(unsigned operand, unsigned block, unsigned row);
  Value getResult(Value value, unsigned block, unsigned element);
  void setElements(Value tensor, unsigned block, ValueRange elements);
  void roundElements(Type type, MutableArrayRef<Value> elements);
  void storeElements(unsigned block);
  SmallVector<Value> getRowsInRange(unsigned block);
  void addUnstored(unsigned block);

  SwappedTile &tile;
  KernelBuilder &b;
  Value number, inTile;    ///< of the subtile, its first row
  ValueRange ofStep;       ///< or none
  unsigned firstColumn;    ///< the first of the thread's two, among all
  SmallVector<Value> rows; ///< the thread's
  unsigned firstLoaded;    ///< block
  SmallVector<SmallVector<Value>> ofOperands; ///< the thread's, from there on
  SmallVector<SwappedFragments> results;
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_SWAPPED_SWAPPEDSUBTILE_H
