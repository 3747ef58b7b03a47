//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits what is parked in shared memory of a tile that has more than registers
// hold.
//
//===----------------------------------------------------------------------===//

#include "SwappedSubtile.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::tenon;

/// Accumulators that a thread stores and loads at a time, 16 bytes.
static constexpr int64_t kParkedLanes = 4;

/// The last subtiles of a tile, if rounds take what was parked to registers as
/// they finish others: as many as there is memory for, and as the products of K
/// hide.
int64_t SwappedEpilogue::getNumParked() {
  const TileGeometry &geometry = frame.geometry;
  if (heldType || !isRoomy())
    return 0;
  int64_t ofSubtile = getSubtileBlocks() * Subtile::kElements;
  int64_t most = std::min(
      getParkedAccumulators(geometry.schedule) / ofSubtile,
      std::max<int64_t>(copies->subtiles.getCount() - getMostHeld(), 0));
  return std::clamp<int64_t>(getNumHidden() - getMostHeld(), 0, most);
}

/// Where the thread's `number`-th four accumulators are.
Value SwappedEpilogue::getParked(Value number) {
  int64_t ofAll = 4 * kParkedLanes * frame.geometry.threads();
  Value bytes =
      b.add(b.mul(number, ofAll), b.mul(frame.thread, 4 * kParkedLanes));
  return b.offset(b.offset(frame.shared, frame.geometry.parkedOffset()), bytes);
}

void SwappedEpilogue::park(ValueRange elements) {
  for (int64_t i = 0, end = elements.size(); i != end; i += kParkedLanes) {
    Value lanes = vector::FromElementsOp::create(
        b, VectorType::get(kParkedLanes, b.getF32Type()),
        elements.slice(i, kParkedLanes));
    LLVM::StoreOp::create(b, lanes, getParked(b.i32(i / kParkedLanes)),
                          4 * kParkedLanes);
  }
}

/// The subtile that is parked in the `round`-th place; after the last of them
/// some other, which no round takes.
SmallVector<Value> SwappedEpilogue::refill(Value round) {
  unsigned blocks = getSubtileBlocks(), values = blocks * Subtile::kElements;
  SmallVector<Value> elements;
  if (int64_t parked = getNumParked()) {
    Value subtile = b.min(round, b.i32(parked - 1));
    for (unsigned i = 0; i != values; i += kParkedLanes) {
      Value number =
          b.add(b.mul(subtile, values / kParkedLanes), i / kParkedLanes);
      Value lanes =
          LLVM::LoadOp::create(b, VectorType::get(kParkedLanes, b.getF32Type()),
                               getParked(number), 4 * kParkedLanes);
      for (int64_t lane = 0; lane != kParkedLanes; ++lane)
        elements.push_back(vector::ExtractOp::create(b, lanes, lane));
    }
    return elements;
  }
  Type type = getHeldTypes().front();
  elements.assign(heldType ? values / 2 : values,
                  LLVM::UndefOp::create(b, type));
  return elements;
}
