//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A subtile in shared memory, as the accumulators' fragments.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_SUBTILES_SUBTILEFRAGMENTS_H
#define TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_SUBTILES_SUBTILEFRAGMENTS_H

#include "Codegen/CUDA/Emit/PackedElements.h"
#include "Codegen/CUDA/Tiled/TiledFrame.h"
#include "EpilogueSubtiles.h"

namespace mlir::tenon {

/// Reads and writes a buffer in blocks of 8 columns, of which a thread has 4
/// elements: of two rows, 8 apart, two neighbours each, as wgmma leaves them.
class SubtileFragments {
public:
  /// `memory`: the buffer's first byte.
  SubtileFragments(TiledFrame &frame, const SubtileTensor &tensor,
                   Value memory);

  /// This thread's elements of all blocks, 4 each, in their compute type.
  SmallVector<Value> load();
  /// What `store` takes elements of: the tensor's value, or what it bounds.
  Value getUnbounded() const { return bounds.getUnbounded(); }
  /// Writes the thread's 4 elements of a block. Blocks come in order; those of
  /// 16-bit elements are written two at a time.
  void store(unsigned block, ArrayRef<Value> elements);

private:
  bool isNarrow() { return tensor.elementBytes() == 2; }
  bool isBytes() { return tensor.elementBytes() == 1; }
  Value getPointer(int64_t byte);
  void loadMatrices(unsigned pair, SmallVectorImpl<Value> &elements);
  void loadPairs(unsigned block, SmallVectorImpl<Value> &elements);

  KernelBuilder &b;
  const SubtileTensor &tensor;
  RoundedBounds bounds;
  Value first; ///< address of what the lane accesses in the first block
  SmallVector<Value> words; ///< of the block before, not yet written
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_SUBTILES_SUBTILEFRAGMENTS_H
