//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A wgmma kernel: warps that copy beside warps that multiply and finish.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_WARPSPECIALIZED_H
#define TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_WARPSPECIALIZED_H

#include "Codegen/CUDA/Tiled/TiledFrame.h"

namespace mlir::tenon {

/// Emits the kernel's body. The first warpgroup copies: one of its threads x
/// and w (Producer.h), others what epilogues read and write (SubtileCopier.h).
/// The other warpgroups multiply, all together on one tile, or with ping-pong
/// in turn: then one finishes its tile while the other multiplies the next.
void emitWarpSpecialized(TiledFrame &frame, TiledLinearOp op);

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_WARPSPECIALIZED_H
