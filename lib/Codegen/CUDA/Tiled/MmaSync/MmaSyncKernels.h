//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_MMASYNC_MMASYNCKERNELS_H
#define TENON_LIB_CODEGEN_CUDA_TILED_MMASYNC_MMASYNCKERNELS_H

#include "Codegen/CUDA/Tiled/TiledFamily.h"

namespace mlir::tenon {

/// Kernels of cp.async, ldmatrix and mma.sync, and those without tensor cores.
class MmaSyncKernels : public TiledFamily {
public:
  MmaSyncKernels();

  void computePlace(TiledFrame &frame) const override;
  void emitBarrier(TiledFrame &frame) const override;
  void emitKernel(TiledFrame &frame, TiledLinearOp op) const override;
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_MMASYNC_MMASYNCKERNELS_H
