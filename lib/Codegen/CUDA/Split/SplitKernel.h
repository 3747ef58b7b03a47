//===- SplitKernel.h - tenon.split on the GPU ------------------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_SPLIT_SPLITKERNEL_H
#define TENON_LIB_CODEGEN_CUDA_SPLIT_SPLITKERNEL_H

#include "tenon/Dialect/Tenon/IR/Tenon.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace mlir::tenon {

/// How threads cover the rows of x and their padding.
///
/// A row has `warps` warps. Its thread t takes `lanes` neighbouring elements
/// from column `lanes * t` on, and again every `stride()` columns: a vector. It
/// keeps `maxVectors()` at most in registers. Of a longer row whole steps of so
/// many are read twice, and the rest is kept. A block has several rows if they
/// have one warp each, otherwise one. Group g of G takes the blocks of rows g,
/// g + G, ...
struct SplitGeometry {
  int64_t k;
  unsigned parts, lanes, warps;

  /// K and the padding.
  int64_t columns() const {
    return SplitOp::getNumColumns(k, parts) / static_cast<int64_t>(parts);
  }
  unsigned rows() const { return warps == 1 ? 8 : 1; }
  unsigned threads() const { return 32 * warps * rows(); }
  int64_t stride() const { return int64_t(32) * warps * lanes; }
  /// Single elements take more registers than those of a vector.
  unsigned maxVectors() const { return lanes == 1 ? 16 : 32 / lanes; }
  int64_t stepColumns() const { return stride() * maxVectors(); }
  /// Whole steps that are read twice.
  int64_t steps() const {
    return columns() <= stepColumns() ? 0 : k / stepColumns();
  }
  /// The vectors that a thread keeps.
  unsigned restVectors() const {
    return llvm::divideCeil(columns() - steps() * stepColumns(), stride());
  }

  static SplitGeometry get(SplitOp op, unsigned lanes);
};

/// The kernel of a split; its arguments are x, the halves, the factors, M and
/// the number of groups, both i64.
LLVM::LLVMFuncOp emitSplitKernel(gpu::GPUModuleOp module, StringRef name,
                                 Location loc, const SplitGeometry &geometry);

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_SPLIT_SPLITKERNEL_H
