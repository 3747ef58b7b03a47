//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which epilogues are computed tile by tile.
//
//===----------------------------------------------------------------------===//

#include "tenon/Schedule/Checks/EpilogueObstacle.h"

#include "tenon/Dialect/Tenon/IR/EpilogueLimits.h"

using namespace mlir;
using namespace mlir::tenon;

std::optional<Reason> tenon::findLengthObstacle(LinearLikeOp op) {
  Block *body = op.getEpilogueBody();
  if (!body)
    return std::nullopt;
  auto isMatrix = [](Type type) {
    return cast<RankedTensorType>(type).getRank() == 2;
  };
  auto isTranscendental = [](Operation &inner) {
    return inner.hasTrait<OpTrait::tenon::Transcendental>();
  };
  size_t matrices =
      llvm::count_if(op.getEpilogueInputs().getTypes(), isMatrix) +
      llvm::count_if(op->getResultTypes(), isMatrix);
  if (matrices <= kMaxTiledOperands &&
      llvm::count_if(*body, isTranscendental) <= kMaxTiledHeavyOps)
    return std::nullopt;
  return Reason(ReasonCode::LongEpilogue, kMaxTiledOperands, kMaxTiledHeavyOps);
}

std::optional<Reason> tenon::findEpilogueObstacle(LinearLikeOp op) {
  Block *body = op.getEpilogueBody();
  if (!body)
    return std::nullopt;
  if (std::optional<Reason> tooLong = findLengthObstacle(op))
    return tooLong;
  auto reductions =
      llvm::make_filter_range(*body, llvm::IsaPred<ReductionEpilogueOp>);
  if (!reductions.empty()) {
    bool isOne = std::next(reductions.begin()) == reductions.end();
    return Reason(isOne ? ReasonCode::NeedsAllRows
                        : ReasonCode::NeedsAllRowsTwice,
                  (*reductions.begin()).getName().getStringRef());
  }
  if (!body->getOps<ReduceRowOp>().empty())
    return Reason(ReasonCode::NeedsWholeRows);
  for (auto [index, type] : llvm::enumerate(op->getResultTypes()))
    if (cast<RankedTensorType>(type).getShape() !=
        op.getProductType().getShape())
      return Reason(ReasonCode::OtherResultShape, index);
  return std::nullopt;
}
