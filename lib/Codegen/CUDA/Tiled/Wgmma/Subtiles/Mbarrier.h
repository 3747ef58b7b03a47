//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Barriers in shared memory that count arrivals and bytes.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_SUBTILES_MBARRIER_H
#define TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_SUBTILES_MBARRIER_H

#include "Codegen/CUDA/Emit/KernelBuilder.h"

namespace mlir::tenon {

/// Prepares the barrier for phases of `arrivals` arrivals.
void emitBarrierInit(KernelBuilder &b, Value barrier, int64_t arrivals);
/// Arrives once, at a barrier of the own block.
void emitArrival(KernelBuilder &b, Value barrier);
/// Arrives, and has the phase wait for `bytes` of copies.
void emitExpectBytes(KernelBuilder &b, Value barrier, int64_t bytes);
/// Waits until the phase of `parity` has completed.
void emitBarrierWait(KernelBuilder &b, Value barrier, Value parity);

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_SUBTILES_MBARRIER_H
