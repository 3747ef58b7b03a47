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

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::tenon;

using llvm::formatv;

std::optional<TiledObstacle> tenon::findLengthObstacle(FusedLinearOp op) {
  auto isMatrix = [](Type type) {
    return cast<RankedTensorType>(type).getRank() == 2;
  };
  auto isTranscendental = [](Operation &inner) {
    return inner.hasTrait<OpTrait::tenon::Transcendental>();
  };
  size_t matrices =
      llvm::count_if(op.getEpilogueOperands().getTypes(), isMatrix) +
      llvm::count_if(op.getResultTypes(), isMatrix);
  if (matrices <= kMaxTiledOperands &&
      llvm::count_if(*op.getBody(), isTranscendental) <= kMaxTiledHeavyOps)
    return std::nullopt;
  return TiledObstacle{
      formatv("a tiled kernel takes too long to compile whose epilogue has "
              "more than {0} operands and results with rows, or more than {1} "
              "ops that are built on exp, log, erf or tanh",
              kMaxTiledOperands, kMaxTiledHeavyOps),
      "combine operands beforehand where that can be"};
}

std::optional<TiledObstacle> tenon::findEpilogueObstacle(FusedLinearOp op) {
  if (std::optional<TiledObstacle> tooLong = findLengthObstacle(op))
    return tooLong;
  auto reductions = llvm::make_filter_range(*op.getBody(),
                                            llvm::IsaPred<ReductionEpilogueOp>);
  if (!reductions.empty()) {
    bool isOne = std::next(reductions.begin()) == reductions.end();
    return TiledObstacle{
        formatv("'{0}' needs all rows, of which a tile has but some",
                (*reductions.begin()).getName().getStringRef()),
        isOne ? "say in its schedule how rows meet, such as reduction = "
                "two_phase"
              : ""};
  }
  auto product = cast<RankedTensorType>(op.getAccumulator().getType());
  for (auto [index, type] : llvm::enumerate(op->getResultTypes()))
    if (cast<RankedTensorType>(type).getShape() != product.getShape())
      return TiledObstacle{formatv("result #{0} is not of the product's shape, "
                                   "and a tile writes nothing else",
                                   index),
                           "compute it outside of the layer"};
  return std::nullopt;
}

/// A warp has 32 rows of 32 columns. With more than four of them along M the
/// block could not copy 64 columns of w at once: then it has more rows.
