//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Derives a tiled kernel's numbers from its op.
//
//===----------------------------------------------------------------------===//

#include "TileGeometry.h"

#include "TiledFamily.h"

#include "tenon/Dialect/Tenon/Analysis/EpiloguePlan.h"
#include "tenon/Dialect/Tenon/IR/NarrowFloats.h"

#include "mlir/IR/TypeUtilities.h"

#include <numeric>

using namespace mlir;
using namespace mlir::tenon;

/// Bytes of an element of the narrowest [M, N] tensor that the epilogue reads
/// or writes, but for 8 bits: more elements at a time take registers.
static unsigned getNarrowestBytes(TiledLinearOp op) {
  unsigned bytes = 4;
  auto visit = [&](Type type) {
    if (EpiloguePlan::variesByColumn(type) &&
        cast<RankedTensorType>(type).getRank() == 2)
      bytes = std::min(bytes,
                       getElementTypeOrSelf(type).getIntOrFloatBitWidth() / 8);
  };
  for (BlockArgument argument :
       op.getBody()->getArguments().drop_front(op.getNumWeights()))
    visit(argument.getType());
  llvm::for_each(op.getYield().getOperandTypes(), visit);
  return std::max(bytes, 2u);
}

TileGeometry::TileGeometry(TiledLinearOp op, ScheduleAttr schedule,
                           bool isAligned)
    : isAligned(isAligned), schedule(schedule),
      family(&TiledFamily::of(schedule)),
      instructionWarps(family->traits.instructionWarps) {
  ProductExtents extents = op.getExtents();
  m = extents.m, n = extents.n, k = extents.k;
  for (unsigned term = 0; term != op.getNumTerms(); ++term)
    termColumns.push_back(op.getTermK(term));
  turnsX = isXTransposed(op.getLayout()),
  turnsW = isWTransposed(op.getLayout());
  sourceType = elementType = getElementTypeOrSelf(op.getX().getType());
  if (isNarrowFloat(sourceType) && schedule.getMethod() != ProductMethod::FP8)
    elementType = Float16Type::get(op.getContext());
  sourceBytes = sourceType.getIntOrFloatBitWidth() / 8;
  elementBytes = elementType.getIntOrFloatBitWidth() / 8;
  ArrayRef<int64_t> tile = schedule.getTile(), warps = schedule.getWarps();
  tileM = tile[0], tileN = tile[1], tileK = tile[2];
  warpsM = warps[0], warpsN = warps[1];
  clusterM = schedule.getClusterM(), clusterN = schedule.getClusterN();
  stages = schedule.getStages();
  weights = schedule.getWeights();
  hasBlockScales = op.hasBlockScales();
  hasScalesByColumn =
      hasBlockScales &&
      cast<ShapedType>(op.getFactors()[0].getType()).getRank() == 1;
  rowBytes = schedule.getSwizzle();
  copyBytes =
      isAligned ? std::gcd<int64_t>(16, k * elementBytes) : elementBytes;
  lanes = isAligned ? std::gcd<int64_t>(n, 16 / getNarrowestBytes(op)) : 1;
  auto reductions = op.getBody()->getOps<ReduceRowOp>();
  if (!reductions.empty())
    groups = (*reductions.begin()).getGroups();
  // In the place of a kernel that rounds as it copies, or beside one that
  // multiplies what tenon.split made of x and w.
  roundsTf32 = elementType.isF32() &&
               !ScheduleFamily::of(schedule).traits.roundsTf32 &&
               schedule.getMethod() == ProductMethod::Direct &&
               (ScheduleFamily::of(op.getSchedule()).traits.roundsTf32 ||
                op.isGuarded());
}

int64_t TileGeometry::kTiles() const {
  int64_t tiles = 0;
  for (int64_t columns : termColumns)
    tiles += llvm::divideCeil(columns, tileK);
  return tiles;
}
