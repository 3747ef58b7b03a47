//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which of two warpgroups may start products.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_WARPGROUPORDER_H
#define TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_WARPGROUPORDER_H

#include "Codegen/CUDA/Tiled/TiledFrame.h"

namespace mlir::tenon {

/// Passes the tensor cores from one of two multiplying warpgroups to the other
/// and back, so that one has something else to do while the other's products
/// are computed.
class WarpgroupOrder {
public:
  explicit WarpgroupOrder(TiledFrame &frame) : frame(frame), b(frame.b) {}

  /// Waits until the other warpgroup has passed. For the first warpgroup to
  /// begin, the second has to pass at the kernel's start.
  void take();
  /// What was started comes before what the other starts now.
  void pass();

private:
  TiledFrame &frame;
  KernelBuilder &b;
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_WARPGROUPORDER_H
