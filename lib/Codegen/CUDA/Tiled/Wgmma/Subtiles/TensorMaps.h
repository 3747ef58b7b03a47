//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which matrices a wgmma kernel reaches through tensor maps, and copies by TMA.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_SUBTILES_TENSORMAPS_H
#define TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_SUBTILES_TENSORMAPS_H

#include "Codegen/CUDA/Emit/KernelBuilder.h"
#include "Codegen/CUDA/Tiled/TiledFamily.h"

namespace mlir::tenon {

/// The tensor maps of a kernel, in the order of its first arguments: x, w, and
/// where TMA copies what the epilogue reads and writes (TmaEpilogue.h,
/// SwappedEpilogue.h), its [M, N] operands and the results.
SmallVector<TensorMapUse> getTensorMaps(TiledLinearOp op,
                                        const TileGeometry &geometry);

/// Copies the box of `map` at a row and column to shared memory; its bytes
/// arrive at `barrier`. With a mask (i16), in all blocks of the cluster that it
/// names; with a policy (i64), that says how long L2 is to keep it.
void emitTensorLoad(KernelBuilder &b, Value map, Value column, Value row,
                    Value target, Value barrier, Value mask = {},
                    Value policy = {});

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_SUBTILES_TENSORMAPS_H
