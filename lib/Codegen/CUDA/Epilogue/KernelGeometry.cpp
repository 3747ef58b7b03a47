//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Chooses how an epilogue's threads cover [M, N].
//
//===----------------------------------------------------------------------===//

#include "KernelGeometry.h"

#include "mlir/IR/TypeUtilities.h"

#include <numeric>

using namespace mlir;
using namespace mlir::tenon;

KernelGeometry KernelGeometry::get(const EpiloguePlan &plan, unsigned lanes) {
  auto [m, n] = plan.getShape();
  const EpiloguePhase &last = plan.getPhases().back();
  bool reduces = !last.finished.empty();
  // Many threads share the columns of a reduction; in f64 they need registers.
  bool f64 = llvm::any_of(last.ops, [](Operation *op) {
    return getElementTypeOrSelf(op->getResultTypes()[0]).isF64();
  });
  unsigned threads = reduces && !f64 ? 512 : 256;
  KernelGeometry geometry;
  geometry.n = n;
  geometry.lanes = lanes;
  // With reductions a block's columns are few, so that many rows share them.
  geometry.threadsX =
      std::min<uint64_t>(reduces ? 32 : threads, llvm::PowerOf2Ceil(n / lanes));
  geometry.threadsY = threads / geometry.threadsX;
  // Enough loads in flight to hide memory's latency, without long kernels.
  geometry.rows = last.isHeavy() ? std::max(1u, 8 / lanes) : 4;
  // Long epilogues have enough to do with a row, and ptxas with their code.
  geometry.rows = std::clamp<unsigned>(512 / (lanes * (last.ops.size() + 1)), 1,
                                       geometry.rows);
  if (!ShapedType::isDynamic(m))
    geometry.rows = std::min<int64_t>(
        geometry.rows,
        std::max<int64_t>(1, llvm::divideCeil(m, int64_t(geometry.threadsY))));
  return geometry;
}

/// Blocks of sums below which a multiprocessor has one at most.
static constexpr int64_t kManyBlocksOfSums = 128;

KernelGeometry KernelGeometry::getOfSums(int64_t n, int64_t count) {
  // As many as a sector of memory has.
  auto threadsX = static_cast<unsigned>(
      std::min<uint64_t>(8, llvm::PowerOf2Ceil(static_cast<uint64_t>(n))));
  KernelGeometry geometry{n, /*lanes=*/1, threadsX, /*threadsY=*/0, /*rows=*/1};
  bool areMany = count * geometry.columnBlocks() >= kManyBlocksOfSums;
  geometry.threadsY = (areMany ? 512 : 1024) / threadsX;
  return geometry;
}

unsigned KernelGeometry::getMaxLanes(const EpiloguePlan &plan, Block &body) {
  // Tensors with one value a feature are loaded once a thread: two accesses
  // for them do not matter, unless there is nothing else.
  bool byRow = plan.getShape()[0] != 1;
  unsigned bytes = 2;
  auto visit = [&](Type type) {
    Type element = cast<RankedTensorType>(type).getElementType();
    if (byRow == EpiloguePlan::variesByRow(type))
      bytes = std::max(bytes, element.getIntOrFloatBitWidth() / 8);
  };
  for (BlockArgument argument : body.getArguments())
    if (!EpiloguePlan::isMoments(argument))
      visit(argument.getType());
  llvm::for_each(body.getTerminator()->getOperandTypes(), visit);
  return std::gcd<int64_t>(plan.getShape()[1], 16 / bytes);
}
