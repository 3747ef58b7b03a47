//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kernels of several layers as one, whose first blocks compute the first
// layer, the next ones the second.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_MERGEDKERNEL_H
#define TENON_LIB_CODEGEN_CUDA_TILED_MERGEDKERNEL_H

#include "TileGeometry.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace mlir::tenon {

/// What a launch gives a tiled kernel, in order: matrices that it reads and
/// writes through tensor maps, and as many maps; pointers; M and a token.
struct KernelArguments {
  SmallVector<Value> mapped;
  SmallVector<Attribute> maps;
  SmallVector<Value> pointers;
  Value m, token;

  SmallVector<Value> getAll() const;
};

/// A layer's kernel, and with what it would be launched.
struct KernelPart {
  TileGeometry geometry;
  LLVM::LLVMFuncOp kernel;
  KernelArguments arguments;
};

struct MergedKernel {
  LLVM::LLVMFuncOp kernel;
  KernelArguments arguments; ///< each once
};

/// Makes one kernel of those of `parts`, which have one schedule and one M and
/// are erased. Each one's `columnUnitsBefore` are the column units of those
/// before it.
MergedKernel mergeKernels(Location loc, gpu::GPUModuleOp module, StringRef name,
                          ArrayRef<KernelPart> parts);

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_MERGEDKERNEL_H
