//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where the warps of such a kernel stand.
//
//===----------------------------------------------------------------------===//

#include "WgmmaKernels.h"

#include "Codegen/CUDA/Tiled/Wgmma/Subtiles/EpilogueSubtiles.h"
#include "Codegen/CUDA/Tiled/Wgmma/Subtiles/TensorMaps.h"
#include "WarpSpecialized.h"

#include "tenon/Schedule/Wgmma/WgmmaSchedule.h"

using namespace mlir;
using namespace mlir::tenon;

WgmmaKernels::WgmmaKernels()
    : TiledFamily({.family = KernelFamily::Wgmma,
                   .instructionWarps = 4,
                   .keepsTurns = false,
                   .mayGuard = false}) {}

SmallVector<TensorMapUse>
WgmmaKernels::getTensorMaps(TiledLinearOp op,
                            const TileGeometry &geometry) const {
  return tenon::getTensorMaps(op, geometry);
}

bool WgmmaKernels::hasRoom(TiledLinearOp op,
                           const TileGeometry &geometry) const {
  return EpilogueSubtiles::choose(op, geometry).has_value();
}

/// A tile's rows, or with swapped operands its columns, are divided among its
/// warpgroups, and every 64 of these among four warps.
void WgmmaKernels::computePlace(TiledFrame &frame) const {
  KernelBuilder &b = frame.b;
  const TileGeometry &geometry = frame.geometry;
  frame.warpgroup = b.shiftRight(frame.warp, 2);
  frame.tileWarp = b.sub(frame.warp, 4);
  frame.thread = b.sub(frame.thread, kWarpgroupThreads);
  frame.warpRow = b.mul(b.bitAnd(frame.warp, 3), 16);
  if (geometry.schedule.getPingPong())
    frame.thread = b.bitAnd(frame.thread, kWarpgroupThreads - 1);
  else
    frame.warpRow = b.add(frame.warpRow, b.mul(b.sub(frame.warpgroup, 1),
                                               64 * geometry.wgmmaBlocks()));
  frame.warpColumn = b.i32(0);
  if (geometry.isSwapped())
    std::swap(frame.warpRow, frame.warpColumn);
}

void WgmmaKernels::emitBarrier(TiledFrame &frame) const {
  KernelBuilder &b = frame.b;
  const TileGeometry &geometry = frame.geometry;
  Value id =
      geometry.schedule.getPingPong() ? frame.warpgroup : b.i32(kTileBarrier);
  b.ptx("bar.sync $0, " + std::to_string(geometry.threads()) + ";",
        "r,~{memory}", id);
}

void WgmmaKernels::emitKernel(TiledFrame &frame, TiledLinearOp op) const {
  emitWarpSpecialized(frame, op);
}
