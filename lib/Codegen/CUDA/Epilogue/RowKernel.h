//===- RowKernel.h - An epilogue that reduces rows -------------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_EPILOGUE_ROWKERNEL_H
#define TENON_LIB_CODEGEN_CUDA_EPILOGUE_ROWKERNEL_H

#include "Codegen/CUDA/Emit/RowPhases.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace mlir::tenon {

/// How threads divide the rows of a kernel that reduces them: short rows are a
/// warp's, others a block's. Of groups each is a row of `n` columns; a warp may
/// have several that are narrow.
struct RowGeometry {
  int64_t n, groups;
  unsigned lanes; ///< neighbouring elements of a thread
  unsigned threadsPerRow, threads;

  /// `isDouble`: it computes in f64.
  RowGeometry(int64_t n, int64_t groups, unsigned lanes, bool isDouble);

  int64_t rowsOfBlock() const { return threads / threadsPerRow; }
  unsigned warpsPerRow() const { return llvm::divideCeil(threadsPerRow, 32); }
  /// Whether a warp has several rows, whose shuffles all of its threads take
  /// part in.
  bool sharesWarps() const { return threadsPerRow < 32; }
  int64_t columnsOfChunk() const { return int64_t(threadsPerRow) * lanes; }
  int64_t numChunks() const { return llvm::divideCeil(n, columnsOfChunk()); }
  bool isRagged() const { return n % columnsOfChunk() != 0; }
  /// Whether a thread's elements stay in registers from one reduction to the
  /// next; else each reduction reads the row again.
  bool keepsRow() const;
};

/// Emits the kernel of an epilogue whose region was cut at its reductions of
/// rows. Its arguments are the inputs, the outputs, and M twice, as i64.
LLVM::LLVMFuncOp emitRowKernel(gpu::GPUModuleOp module, StringRef name,
                               EpilogueOp op, ArrayRef<RowPhase> phases,
                               const RowGeometry &geometry);

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_EPILOGUE_ROWKERNEL_H
