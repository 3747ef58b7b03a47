//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ldmatrix and mma.sync: a warp's product of a stage, k-step by k-step.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_MMASYNC_WARPPRODUCT_H
#define TENON_LIB_CODEGEN_CUDA_TILED_MMASYNC_WARPPRODUCT_H

#include "Codegen/CUDA/Tiled/TiledFrame.h"

namespace mlir::tenon {

/// A warp's part of a tile as blocks of 16 rows by 8 columns, one mma.sync
/// each; of several weights the columns of each follow those of the one
/// before. A k-step is 32 bytes of a row: 32 elements of 8 bits, 16 of 16, or 8
/// of f32 (tf32). The bytes of an 8x8 matrix of 16-bit elements that ldmatrix
/// spreads over a warp are those of an 8x4 fragment of f32, so both types load
/// alike.
///
/// Accumulators are kept block by block, row blocks outermost, 4 a block: two
/// neighbours in row lane / 4, two in that row + 8, in columns 2 (lane mod 4).
///
/// With a method that splits elements in parts, a row of 128 bytes has the
/// first parts of its elements, then the next ones. A k-step is then 32 bytes
/// of each, and a block as many mma.sync as the method has products. They start
/// from zero, and ordinary additions add what they give to the accumulators:
/// those round to nearest, where mma.sync cuts off.
class WarpProduct {
public:
  explicit WarpProduct(TiledFrame &frame);

  unsigned rowBlocks() const { return frame.geometry.warpM() / 16; }
  unsigned columnBlocks() const {
    return frame.geometry.weights * frame.geometry.warpN() / 8;
  }
  unsigned numAccumulators() const { return rowBlocks() * columnBlocks() * 4; }
  /// Parts of an element: hi and lo, or the element as a whole.
  unsigned numParts() const {
    return frame.geometry.schedule.getMethodTraits().getNumParts();
  }
  unsigned numSteps() const {
    return frame.geometry.rowBytes / 32 / numParts();
  }
  /// Registers of x's fragments in a k-step, and of x's and w's.
  unsigned numRegistersOfX() const { return 4 * rowBlocks() * numParts(); }
  unsigned numRegisters() const {
    return numRegistersOfX() + 2 * columnBlocks() * numParts();
  }
  unsigned numProducts() const {
    return rowBlocks() * columnBlocks() *
           frame.geometry.schedule.getMethodTraits().products.size();
  }

  /// The ldmatrix of a k-step, each giving 4 registers. w's come first, since
  /// the first products need all of w's and only one of x's row blocks.
  unsigned numLoads() const { return numRegisters() / 4; }
  SmallVector<Value> load(Value stage, unsigned step, unsigned index);
  /// Puts what the loads gave into the order x, w.
  SmallVector<Value> order(ArrayRef<SmallVector<Value>> loaded);
  /// All products of a k-step. Before product number i, `before(i)` emits what
  /// is to run beside it.
  void multiply(SmallVectorImpl<Value> &accumulators, ArrayRef<Value> registers,
                llvm::function_ref<void(unsigned)> before);
  /// Accumulators weight by weight, as epilogues take them.
  SmallVector<Value> orderByWeight(ArrayRef<Value> accumulators);

private:
  void multiplyParts(MutableArrayRef<Value> accumulators,
                     ArrayRef<Value> registers,
                     llvm::function_ref<void()> before);
  ArrayRef<Value> getX(ArrayRef<Value> registers, unsigned row, unsigned part);
  ArrayRef<Value> getW(ArrayRef<Value> registers, unsigned column,
                       unsigned part);
  void multiplyBlock(MutableArrayRef<Value> accumulators, ValueRange x,
                     ValueRange w);
  SmallVector<Value> toOperands(ValueRange registers);

  TiledFrame &frame;
  KernelBuilder &b;
  Value offsetOfX, offsetOfW; ///< in a stage, of k-step 0
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_MMASYNC_WARPPRODUCT_H
