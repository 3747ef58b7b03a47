//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The main loop of an sm_80 kernel: copies, loads and products overlapped.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_MMASYNC_MAINLOOP_H
#define TENON_LIB_CODEGEN_CUDA_TILED_MMASYNC_MAINLOOP_H

#include "TileCopy.h"
#include "WarpProduct.h"

namespace mlir::tenon {

class BlockScales;

/// Computes a turn's accumulators in a ring of stages in shared memory.
///
/// While a stage is multiplied, cp.async fills the one that was multiplied
/// before it, and each k-step's fragments are loaded during the k-step before.
/// A stage costs one wait and one barrier, in its last k-step but one: what
/// that barrier separates are the reads of this stage from the copies into it,
/// and the copies into the next stage from its reads.
class MainLoop {
public:
  explicit MainLoop(TiledFrame &frame);

  /// Multiplies; TileCopy::start has been called for `item`.
  SmallVector<Value> run(const WorkItem &item);

private:
  struct Step;
  struct Carried;

  Carried begin(const WorkItem &item);
  Carried advance(const WorkItem &item, BlockScales *scales, Value kTile,
                  Carried carried);
  SmallVector<Value> loadFirst();
  void copyUntil(unsigned time, unsigned total, Carried &carried,
                 Step &context);
  void emitStep(unsigned step, Carried &carried, Step &context);

  TiledFrame &frame;
  KernelBuilder &b;
  TileCopy copies;
  WarpProduct product;
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_MMASYNC_MAINLOOP_H
