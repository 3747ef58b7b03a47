//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// tenon.split of a matrix that is given transposed, on the GPU.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_SPLIT_SPLITPANELKERNEL_H
#define TENON_LIB_CODEGEN_CUDA_SPLIT_SPLITPANELKERNEL_H

#include "tenon/Dialect/Tenon/IR/Tenon.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace mlir::tenon {

/// How threads cover x [K, M], whose columns are the rows of what is split.
///
/// A block has a panel of `width` columns, narrow enough that there are panels
/// for all of a GPU. Its warps take tiles of the panel in turn, of 1024
/// elements each. A lane loads elements of one column of a tile, and stores
/// `lanes` neighbouring elements of a row of the result at a time.
struct SplitPanelGeometry {
  int64_t m, k;
  unsigned parts, lanes;
  int64_t width; ///< 8, 16 or 32

  static constexpr int64_t kWarps = 8, kTileElements = 1024;

  /// Columns of the result, of each part: K and the padding.
  int64_t columns() const { return SplitOp::getNumColumns(k, parts) / parts; }
  int64_t panels() const { return llvm::divideCeil(m, width); }
  int64_t tileRows() const { return kTileElements / width; }
  int64_t tiles() const { return llvm::divideCeil(k, tileRows()); }
  /// Rows of a tile that a warp loads at a time.
  int64_t rowsPerLoad() const { return 32 / width; }
  /// Words of a row in shared memory: neither those of a row nor every second
  /// one of a column meet a bank twice.
  int64_t tileStride() const { return width + 1; }
  /// A warp stores as many rows of the result, 32 elements of each, at a time.
  unsigned rowsPerStep() const { return lanes; }
  unsigned lanesPerRow() const { return 32 / lanes; }
  unsigned steps() const { return kTileElements / (32 * lanes); }
  int64_t threads() const { return 32 * kWarps; }

  static SplitPanelGeometry get(SplitOp op, unsigned lanes);
};

/// The kernel; its arguments are x, the halves, the factors, and two i64 that
/// it does not read.
LLVM::LLVMFuncOp emitSplitPanelKernel(gpu::GPUModuleOp module, StringRef name,
                                      Location loc,
                                      const SplitPanelGeometry &geometry);

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_SPLIT_SPLITPANELKERNEL_H
