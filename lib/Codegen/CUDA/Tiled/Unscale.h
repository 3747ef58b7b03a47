//===- Unscale.h - The scale of split rows ----------------------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_UNSCALE_H
#define TENON_LIB_CODEGEN_CUDA_TILED_UNSCALE_H

#include "WorkPartition.h"

namespace mlir::tenon {

/// The accumulators of a tile of split rows as the products that they stand
/// for: each times the squares of its row's and its column's factor. Others as
/// they are.
SmallVector<Value> emitUnscale(TiledFrame &frame, const WorkItem &item,
                               ValueRange accumulators);

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_UNSCALE_H
