//===- KernelGeometry.h - How a kernel's threads cover [M, N] --*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_EPILOGUE_KERNELGEOMETRY_H
#define TENON_LIB_CODEGEN_CUDA_EPILOGUE_KERNELGEOMETRY_H

#include "tenon/Dialect/Tenon/Analysis/EpiloguePlan.h"

namespace mlir::tenon {

/// How the threads of an epilogue's kernels cover [M, N].
///
/// A thread owns `lanes` neighbouring columns. A block is `threadsX` threads
/// across by `threadsY` down; it takes a tile of `threadsX * lanes` columns by
/// `tileRows()` rows at a time, a thread `rows` of them, `threadsY` apart.
/// Blocks are numbered group by group, `columnBlocks` to a group; group g of G
/// takes tiles g, g + G, g + 2G, ... of its columns.
struct KernelGeometry {
  int64_t n;
  unsigned lanes, threadsX, threadsY, rows;

  unsigned threads() const { return threadsX * threadsY; }
  unsigned tileRows() const { return threadsY * rows; }
  unsigned tileColumns() const { return threadsX * lanes; }
  int64_t columnBlocks() const {
    return llvm::divideCeil(n, int64_t(tileColumns()));
  }
  /// Whether a block's columns may reach beyond N.
  bool isRagged() const { return n % tileColumns() != 0; }
  /// With reductions: groups that fill the GPU, each of which leaves a state to
  /// combine. A large GPU holds 264 blocks of this size at once.
  int64_t maxGroups() const {
    return std::max<int64_t>(1, 256 / columnBlocks());
  }

  /// The geometry for vectors of `lanes` elements.
  static KernelGeometry get(const EpiloguePlan &plan, unsigned lanes);
  /// The geometry for so many sums of parts, which are all read once.
  static KernelGeometry getOfSums(int64_t n, int64_t count);
  /// How many elements of the widest matrix 16 bytes hold, or as many as divide
  /// N.
  static unsigned getMaxLanes(const EpiloguePlan &plan, Block &body);
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_EPILOGUE_KERNELGEOMETRY_H
