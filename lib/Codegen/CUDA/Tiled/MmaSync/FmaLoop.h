//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The main loop of a kernel that multiplies f32 without tensor cores.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_MMASYNC_FMALOOP_H
#define TENON_LIB_CODEGEN_CUDA_TILED_MMASYNC_FMALOOP_H

#include "FmaProduct.h"
#include "TileCopy.h"

namespace mlir::tenon {

/// Computes a turn's accumulators in a ring of stages, as MainLoop does. A
/// stage takes so many more cycles here that nothing of the next one is loaded
/// early: each begins with its wait and its barrier, and the copies into the
/// stage before it. Its products are summed up by themselves and then added to
/// the accumulators, so that fewer roundings add up than in one long sum.
class FmaLoop {
public:
  explicit FmaLoop(TiledFrame &frame)
      : frame(frame), b(frame.b), copies(frame), product(frame) {}

  /// Multiplies; TileCopy::start has been called for `item`. Ends with a
  /// barrier: the stages may be overwritten.
  SmallVector<Value> run(const WorkItem &item);

private:
  struct Carried;

  Carried advance(const WorkItem &item, Value kTile, Carried carried);
  void copyNext(const WorkItem &item, Value kTile, Carried &carried);

  TiledFrame &frame;
  KernelBuilder &b;
  TileCopy copies;
  FmaProduct product;
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_MMASYNC_FMALOOP_H
