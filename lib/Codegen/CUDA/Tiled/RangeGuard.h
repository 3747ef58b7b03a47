//===- RangeGuard.h - Which tiles a guarded kernel computes -----*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_RANGEGUARD_H
#define TENON_LIB_CODEGEN_CUDA_TILED_RANGEGUARD_H

#include "WorkPartition.h"

namespace mlir::tenon {

/// Whether any row of x or w has a negative factor, or one of w a factor below
/// 2^-101 or above 2^72: whether there is anything to do. Each block reads all
/// factors, which takes it a microsecond or two. i1, the same in all threads of
/// the block.
Value emitHasRowsOutside(TiledFrame &frame);

/// Whether any row of the item's tile has one, of x or w; where tiles of a row
/// wait for each other, of all w. i1, the same in all threads of the block,
/// which meet at a barrier.
Value emitHasRowsOutside(TiledFrame &frame, const WorkItem &item);

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_RANGEGUARD_H
