//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A subtile in shared memory, as the fragments of a product with swapped
// operands.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_SWAPPED_SWAPPEDFRAGMENTS_H
#define TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_SWAPPED_SWAPPEDFRAGMENTS_H

#include "Codegen/CUDA/Emit/PackedElements.h"
#include "Codegen/CUDA/Tiled/TiledFrame.h"
#include "Codegen/CUDA/Tiled/Wgmma/Subtiles/EpilogueSubtiles.h"

namespace mlir::tenon {

/// Reads and writes a buffer in blocks of 8 rows, of which a warp has 16
/// columns. A thread has 4 elements of a block: of two columns, 8 apart, two
/// neighbouring rows each, as wgmma leaves them when its rows are columns.
class SwappedFragments {
public:
  /// `memory`: the buffer's first byte.
  SwappedFragments(TiledFrame &frame, const EpilogueSubtiles &subtiles,
                   const SubtileTensor &tensor, Value memory);

  /// This thread's elements of blocks `begin` to `end`, 4 each, in their
  /// compute type. `begin` is even.
  SmallVector<Value> load(unsigned begin, unsigned end);
  /// What `store` takes elements of: the tensor's value, or what it bounds.
  Value getUnbounded() const { return bounds.getUnbounded(); }
  /// Writes the thread's 4 elements of a block. Blocks come in order; those of
  /// 16-bit elements are written two at a time, but for an odd one at the end.
  /// Returns what is written: elements, or of 16 bits a word for each column.
  SmallVector<Value> store(unsigned block, ArrayRef<Value> elements);

private:
  bool isNarrow() { return tensor.elementBytes() == 2; }
  Value getFirstOfMatrices(TiledFrame &frame);
  Value getFirstElement(TiledFrame &frame);
  Value getPointer(unsigned block, Value place);
  Value getElement(unsigned block, unsigned index);
  void loadMatrices(unsigned block, SmallVectorImpl<Value> &elements);
  void addWords(ArrayRef<Value> elements);
  void storeMatrices(unsigned block);

  KernelBuilder &b;
  bool hasOneRow;
  const SubtileTensor &tensor;
  RoundedBounds bounds;
  int64_t boxBytes;
  unsigned numBlocks;
  Value memory; ///< the buffer's address
  Value first;  ///< place in it of what the lane accesses in the first block
  SmallVector<Value> words; ///< of 16-bit elements, not yet written
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_SWAPPED_SWAPPEDFRAGMENTS_H
