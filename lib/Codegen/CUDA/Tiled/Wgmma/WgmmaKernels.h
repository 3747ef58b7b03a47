//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_WGMMAKERNELS_H
#define TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_WGMMAKERNELS_H

#include "Codegen/CUDA/Tiled/TiledFamily.h"

namespace mlir::tenon {

/// Kernels of TMA and wgmma, whose first warpgroup copies.
class WgmmaKernels : public TiledFamily {
public:
  WgmmaKernels();

  SmallVector<TensorMapUse>
  getTensorMaps(TiledLinearOp op, const TileGeometry &geometry) const override;
  bool hasRoom(TiledLinearOp op, const TileGeometry &geometry) const override;
  void computePlace(TiledFrame &frame) const override;
  void emitBarrier(TiledFrame &frame) const override;
  void emitKernel(TiledFrame &frame, TiledLinearOp op) const override;
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_WGMMAKERNELS_H
