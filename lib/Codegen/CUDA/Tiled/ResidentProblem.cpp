//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which regions a kernel can reduce itself.
//
//===----------------------------------------------------------------------===//

#include "ResidentProblem.h"

#include "ResidentReduction.h"
#include "TiledFamily.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::tenon;

/// Whether `value` comes of the product in another way than through `kept`.
static bool needsProduct(TiledLinearOp op, Value value, Value kept) {
  if (value == kept)
    return false;
  if (value == op.getAccumulator())
    return true;
  Operation *defining = value.getDefiningOp();
  return defining && llvm::any_of(defining->getOperands(), [&](Value operand) {
           return needsProduct(op, operand, kept);
         });
}

/// What the kernel has of a tile when its columns are reduced.
static Value getKept(TiledLinearOp op, ReductionEpilogueOp reduction) {
  auto norm = dyn_cast<BatchNormTrainingOp>(reduction.getOperation());
  return norm ? findKept(op.getAccumulator(), norm)
              : reduction.getReducedInput();
}

/// What the rows of x ask: that all tiles of a column are at work together, or
/// with a dynamic M that another kernel computes what is too much for that.
static std::string findRowProblem(const TileGeometry &geometry) {
  bool isDynamic = ShapedType::isDynamic(geometry.m);
  if (geometry.m == 0 ||
      (isDynamic &&
       !ScheduleFamily::of(geometry.schedule).traits.isResidentDynamic))
    return "with reduction = resident M must be known, but for wgmma, and not "
           "0";
  if (std::string problem = tenon::findProblem(
          geometry.schedule.withReduction(ReductionMethod::TwoPhase),
          geometry.elementType);
      isDynamic && !problem.empty())
    return "with reduction = resident and a dynamic M reduction = two_phase "
           "must be possible too: " +
           problem;
  int64_t blocks =
      isDynamic ? 0 : geometry.rowUnits() * geometry.clusterBlocks();
  if (blocks <= getMaxBlocks(geometry.schedule))
    return "";
  return llvm::formatv(
      "with reduction = resident all {0} tiles of a column must be at work "
      "together, more than the {1} multiprocessors that any GPU is taken to "
      "have; use larger tiles, or reduction = two_phase",
      blocks, kMaxMultiprocessors);
}

std::string tenon::findResidentProblem(TiledLinearOp op) {
  FailureOr<EpiloguePlan> plan = EpiloguePlan::get(*op.getBody());
  if (failed(plan) || plan->getPhases().size() != 2)
    return "reduction = resident is for a region with one reduction";
  ReductionEpilogueOp reduction = plan->getPhases().front().reduction;
  Value input = reduction.getReducedInput();
  if (4 * reduction.getStateSize() != kStateBytesPerColumn ||
      cast<RankedTensorType>(input.getType()).getElementType().isF64())
    return "reduction = resident is for reductions along M whose states are "
           "two f32";
  TileGeometry geometry(op, op.getSchedule(), /*isAligned=*/true);
  if (std::string problem = findRowProblem(geometry); !problem.empty())
    return problem;
  if (geometry.isSwapped() && plan->readsRowOperandFirst())
    return llvm::formatv("with reduction = resident and swapped operands what "
                         "is reduced may depend on no operand with rows; write "
                         "warps = {0}x1 and a tile of a multiple of {1} rows",
                         geometry.schedule.getNumWarps(),
                         16 * geometry.schedule.getNumWarps());
  Value kept = getKept(op, reduction);
  if (ShapedType::isDynamic(geometry.m) && kept != input)
    return "with reduction = resident and a dynamic M what follows the "
           "reduction may need no more of the product than what is reduced";
  if (llvm::any_of(op.getYield().getValues(),
                   [&](Value value) { return needsProduct(op, value, kept); }))
    return "with reduction = resident what follows the reduction may need no "
           "more of the product than what is reduced, or one value before it "
           "that gives it by products and sums with numbers or vectors [N]";
  if (!geometry.family->hasRoom(op, geometry))
    return "with reduction = resident TMA must be able to move all [M, N] "
           "operands and results: rows of multiples of 16 bytes, of f32, f16 "
           "or bf16, in tiles with room for them";
  return "";
}
