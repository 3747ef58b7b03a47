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

#include "tenon/Dialect/Tenon/Analysis/EpiloguePlan.h"
#include "tenon/Dialect/Tenon/IR/EpilogueLimits.h"

using namespace mlir;
using namespace mlir::tenon;

/// Whether `op` divides elements, of which a thread has many.
static bool dividesElements(Operation &op) {
  return isa<DivOp>(op) && EpiloguePlan::variesByRow(op.getResultTypes()[0]) &&
         EpiloguePlan::variesByColumn(op.getResultTypes()[0]);
}

void EpilogueLength::add(LinearLikeOp op) {
  auto isMatrix = [](Type type) {
    return cast<RankedTensorType>(type).getRank() == 2;
  };
  matrices += llvm::count_if(op.getEpilogueInputs().getTypes(), isMatrix) +
              llvm::count_if(op->getResultTypes(), isMatrix);
  Block *body = op.getEpilogueBody();
  if (!body)
    return;
  ops += body->getOperations().size() - 1; // the yield
  heavyOps += llvm::count_if(*body, [](Operation &inner) {
    return inner.hasTrait<OpTrait::tenon::Transcendental>();
  });
  divisions += llvm::count_if(*body, dividesElements);
}

std::optional<Reason> EpilogueLength::findObstacle() const {
  if (matrices <= kMaxTiledOperands && ops <= kMaxEpilogueOps &&
      heavyOps <= kMaxTiledHeavyOps && divisions <= kMaxTiledDivisions)
    return std::nullopt;
  return Reason(ReasonCode::LongEpilogue, kMaxTiledOperands, kMaxTiledHeavyOps,
                kMaxTiledDivisions);
}

std::optional<Reason> tenon::findLengthObstacle(LinearLikeOp op) {
  if (!op.getEpilogueBody())
    return std::nullopt;
  EpilogueLength length;
  length.add(op);
  return length.findObstacle();
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
