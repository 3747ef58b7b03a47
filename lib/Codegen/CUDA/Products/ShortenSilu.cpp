//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// silu of 16 bits: a sigmoid of these is by exp2, and x times it rounds once
// more than a quotient, which does not show. Kernels of several results or
// products, which hold more at a time, spilled.
//
//===----------------------------------------------------------------------===//

#include "ShortenSilu.h"

using namespace mlir;
using namespace mlir::tenon;

/// Whether epilogues take so long that it shows, and spill by neither form:
/// those that reduce rows, or follow products of 8 bits.
static bool mayShorten(ScheduleAttr schedule) {
  return schedule.getReduction() == ReductionMethod::InTile ||
         schedule.getReduction() == ReductionMethod::ResidentRows ||
         (schedule.getMethod() == ProductMethod::FP8 &&
          schedule.getWeights() == 1);
}

void tenon::shortenSilu(TiledLinearOp op) {
  if (!mayShorten(op.getSchedule()))
    return;
  for (auto silu : llvm::make_early_inc_range(op.getBody()->getOps<SiluOp>())) {
    if (silu.getType().getElementTypeBitWidth() > 16)
      continue;
    OpBuilder b(silu);
    Value x = silu.getInput();
    Value share = SigmoidOp::create(b, silu.getLoc(), x);
    Value product = MulOp::create(b, silu.getLoc(), x, share);
    silu.replaceAllUsesWith(product);
    silu.erase();
  }
}
