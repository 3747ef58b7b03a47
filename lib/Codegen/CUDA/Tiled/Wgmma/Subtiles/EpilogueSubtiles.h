//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How an epilogue's [M, N] tensors pass through shared memory.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_SUBTILES_EPILOGUESUBTILES_H
#define TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_SUBTILES_EPILOGUESUBTILES_H

#include "Codegen/CUDA/Tiled/TileGeometry.h"

#include "tenon/Schedule/Wgmma/SubtileLayout.h"

namespace mlir::tenon {

/// The subtiles of a kernel's epilogue.
struct EpilogueSubtiles : SubtileLayout {
  /// None where TMA does not move them.
  static std::optional<EpilogueSubtiles> choose(TiledLinearOp op,
                                                const TileGeometry &geometry);

  /// What a copy moves of `tensor`.
  TensorMapAttr getMap(const SubtileTensor &tensor) const;
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_SUBTILES_EPILOGUESUBTILES_H
