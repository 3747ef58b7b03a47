//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What differs between families of tiled kernels. A family is a folder beside
// MmaSync and Wgmma, whose object is registered (EmitKernels.cpp).
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_TILEDFAMILY_H
#define TENON_LIB_CODEGEN_CUDA_TILED_TILEDFAMILY_H

#include "TileGeometry.h"

namespace mlir::tenon {

class TiledFrame;

/// A matrix, and the part of it that one copy by TMA moves.
struct TensorMapUse {
  Value matrix; ///< an operand of the op
  TensorMapAttr map;
};

/// Emits the kernels of one family of schedules.
class TiledFamily {
public:
  /// What is true of all of its kernels.
  struct Traits {
    KernelFamily family;
    /// Warps that share the rows of a matrix instruction, of which each has 16.
    int64_t instructionWarps;
    /// Whether what loops need of a turn is kept in shared memory, rather than
    /// computed anew or held in registers, of which they have few.
    bool keepsTurns;
    /// Whether a kernel may be told which of its tiles to compute.
    bool mayGuard;
  };
  const Traits traits;

  explicit TiledFamily(const Traits &traits) : traits(traits) {}
  virtual ~TiledFamily() = default;

  static const TiledFamily &of(ScheduleAttr schedule);
  /// Says which there are, before anything asks.
  static void setAll(ArrayRef<const TiledFamily *> families);

  /// The tensor maps of a kernel, in the order of its first arguments.
  virtual SmallVector<TensorMapUse>
  getTensorMaps(TiledLinearOp op, const TileGeometry &geometry) const {
    return {};
  }
  /// With reduction = resident: whether tiles have room for all operands and
  /// results.
  virtual bool hasRoom(TiledLinearOp op, const TileGeometry &geometry) const {
    return true;
  }
  /// Where the warp stands in a tile, from where the thread stands in its
  /// block.
  virtual void computePlace(TiledFrame &frame) const = 0;
  /// A barrier of the threads that multiply a tile.
  virtual void emitBarrier(TiledFrame &frame) const = 0;
  /// The whole kernel, after its arguments have been taken.
  virtual void emitKernel(TiledFrame &frame, TiledLinearOp op) const = 0;
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_TILEDFAMILY_H
