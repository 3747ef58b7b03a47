//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Partial tiles of stream-K, through the workspace.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_PARTIALTILES_H
#define TENON_LIB_CODEGEN_CUDA_TILED_PARTIALTILES_H

#include "WorkPartition.h"

namespace mlir::tenon {

/// Leaves the accumulators of a tile's front in the block's place of the
/// workspace, and marks them as done: the block's flag becomes the launch's
/// token, which no earlier launch had and memory does not hold by chance.
void emitPublish(TiledFrame &frame, ValueRange accumulators);

/// Adds what other blocks computed of the item's tile, from the nearest block
/// to the farthest, and so the same bits each time. Clears their flags, so that
/// a replayed launch, whose token is the same, starts without them.
SmallVector<Value> emitGather(TiledFrame &frame, WorkPartition &partition,
                              const WorkItem &item, ValueRange accumulators);

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_PARTIALTILES_H
