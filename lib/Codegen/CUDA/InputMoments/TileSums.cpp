//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Adds what the warps of a block have of a tile.
//
//===----------------------------------------------------------------------===//

#include "TileSums.h"

#include "Codegen/CUDA/Emit/KernelFunction.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::tenon;

/// Where a lane's sum number `index` lies in a part.
Value TileSums::getIndex(Value part, unsigned index) {
  int64_t product = index / 2, i = product / kProducts, j = product % kProducts;
  Value first = b.add(b.mul(frame.laneRow, kPitch), b.mul(frame.laneColumn, 2));
  first = b.add(b.mul(part, kPartElements), first);
  return b.add(first, 8 * i * kPitch + 8 * j + index % 2);
}

void TileSums::addWarps(ValueRange sums) {
  Value isFirst = b.less(frame.warp, kParts);
  NVVM::Barrier0Op::create(b);
  emitIf(b, isFirst, [&] {
    for (auto [index, sum] : llvm::enumerate(sums))
      frame.store(sum, shared, getIndex(frame.warp, index));
  });
  NVVM::Barrier0Op::create(b);
  emitIf(b, b.equal(isFirst, 0), [&] {
    Value part = b.sub(frame.warp, kParts);
    for (auto [index, sum] : llvm::enumerate(sums)) {
      Value place = getIndex(part, index);
      frame.store(frame.add(frame.load(shared, place), sum), shared, place);
    }
  });
  NVVM::Barrier0Op::create(b);
}

void TileSums::store(Value target) {
  for (int64_t start = 0; start != MomentsGeometry::kTileElements;
       start += 32 * MomentsGeometry::kGramWarps) {
    Value element = b.add(frame.thread, start);
    Value place =
        b.add(b.mul(b.div(element, kTile), kPitch), b.rem(element, kTile));
    Value sum = frame.load(shared, place);
    for (int64_t part = 1; part != kParts; ++part)
      sum = frame.add(sum,
                      frame.load(shared, b.add(place, part * kPartElements)));
    frame.store(sum, target, element);
  }
}
