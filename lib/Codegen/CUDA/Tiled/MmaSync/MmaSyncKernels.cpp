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

#include "MmaSyncKernels.h"

#include "MmaSyncTurns.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::tenon;

MmaSyncKernels::MmaSyncKernels()
    : TiledFamily({.family = KernelFamily::MmaSync,
                   .instructionWarps = 1,
                   .keepsTurns = true,
                   .mayGuard = true}) {}

void MmaSyncKernels::computePlace(TiledFrame &frame) const {
  KernelBuilder &b = frame.b;
  const TileGeometry &geometry = frame.geometry;
  frame.tileWarp = frame.warp;
  frame.warpRow = b.mul(b.rem(frame.warp, geometry.warpsM), geometry.warpM());
  frame.warpColumn =
      b.mul(b.div(frame.warp, geometry.warpsM), geometry.warpN());
}

void MmaSyncKernels::emitBarrier(TiledFrame &frame) const {
  NVVM::Barrier0Op::create(frame.b);
}

void MmaSyncKernels::emitKernel(TiledFrame &frame, TiledLinearOp op) const {
  MmaSyncTurns(frame, op).emitOwn();
}
