//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Several layers of one x in one launch.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_LAUNCHSIBLINGS_H
#define TENON_LIB_CODEGEN_CUDA_TILED_LAUNCHSIBLINGS_H

#include "tenon/Dialect/Tenon/IR/Tenon.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace mlir::tenon {

/// `op`, on memrefs, and those behind it that one launch can have with it: as
/// many as its schedule says, or less.
SmallVector<TiledLinearOp> findSiblings(TiledLinearOp op);

/// Does with what `findSiblings` found as `lowerTiledLinear` with one.
LogicalResult lowerSiblings(ArrayRef<TiledLinearOp> siblings,
                            gpu::GPUModuleOp module,
                            SmallVectorImpl<Attribute> &kernels);

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_LAUNCHSIBLINGS_H
