//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Chooses the width of subtiles.
//
//===----------------------------------------------------------------------===//

#include "tenon/Schedule/Wgmma/SubtileLayout.h"

#include "tenon/Dialect/Tenon/Analysis/EpiloguePlan.h"
#include "tenon/Dialect/Tenon/IR/NarrowFloats.h"
#include "tenon/Schedule/Wgmma/WgmmaSchedule.h"

using namespace mlir;
using namespace mlir::tenon;

static bool isMatrix(Type type) {
  return EpiloguePlan::variesByRow(type) && EpiloguePlan::variesByColumn(type);
}

/// What the 64 rows of a wgmma are multiplied by: with swapped operands they
/// are columns of the tile.
static int64_t getWgmmaColumns(ScheduleAttr schedule) {
  return schedule.getTile()[schedule.hasSwappedOperands() ? 0 : 1];
}

static bool isResident(ScheduleAttr schedule) {
  return schedule.getReduction() == ReductionMethod::Resident;
}

/// Of TMA's widest swizzle.
static constexpr int64_t kMaxRowBytes = 128;

/// Whether TMA can move parts of such a tensor. Bytes are written alone, and
/// not where they lie transposed in registers.
static bool canMove(RankedTensorType type, bool takesBytes) {
  Type element = type.getElementType();
  if (element.isF64() || (isNarrowFloat(element) && !takesBytes))
    return false;
  return type.getDimSize(1) * element.getIntOrFloatBitWidth() / 8 % 16 == 0;
}

/// The operand whose buffers the result may have too, if there is one: a thread
/// has the same elements of both. A resident kernel has no room for so many
/// barriers, and moments are read from buffers that the next operand would be
/// loaded to, unless with swapped operands they come from registers. Beside
/// them alone were several operands measured.
const SubtileTensor *SubtileLayout::findShared(ScheduleAttr schedule) const {
  if (isResident(schedule) || (!moments.empty() && !isSwapped) ||
      results.size() != 1 || (operands.size() != 1 && !givesMoments))
    return nullptr;
  const auto *found =
      llvm::find_if(operands, [&](const SubtileTensor &operand) {
        return operand.elementType == results[0].elementType;
      });
  return found == operands.end() ? nullptr : found;
}

/// Gives every tensor its buffers for subtiles of `width` columns, or with
/// swapped operands rows. False if they do not fit, or no swizzle is as wide as
/// their rows.
bool SubtileLayout::place(int64_t width, bool shares, int64_t buffers,
                          ScheduleAttr schedule) {
  const SubtileTensor *shared = findShared(schedule);
  if (getWgmmaColumns(schedule) % width != 0 || (shares && !shared))
    return false;
  rows = kRows, columns = width;
  if (isSwapped)
    std::swap(rows, columns);
  perRow = getWgmmaColumns(schedule) / width;
  numBuffers = buffers;
  areShared = shares;
  int64_t offset = 0;
  for (SmallVector<SubtileTensor> *tensors : {&operands, &results})
    for (SubtileTensor &tensor : *tensors) {
      tensor.rowBytes = columns * tensor.elementBytes();
      if (isSwapped)
        tensor.rowBytes = std::min(tensor.rowBytes, kMaxRowBytes);
      bool isShared = shares && tensors == &results;
      tensor.offset = isShared ? shared->offset : offset;
      if (!isShared)
        offset += numBuffers * getBufferBytes(tensor);
      if (!llvm::is_contained({int64_t(32), int64_t(64), kMaxRowBytes},
                              tensor.rowBytes))
        return false;
    }
  return offset <= getWarpgroupEpilogueBytes(schedule);
}

/// False if there are moments of something else than a result, and it is not in
/// registers.
bool SubtileLayout::addMoments(Operation *yield) {
  for (auto [index, value] : llvm::enumerate(yield->getOperands())) {
    auto ofResult = value.getDefiningOp<MomentsOp>();
    if (!ofResult)
      continue;
    givesMoments = true;
    auto of = llvm::find_if(results, [&](const SubtileTensor &result) {
      return result.value == ofResult.getInput();
    });
    if (of == results.end() ? !isSwapped : isNarrowFloat(of->elementType))
      return false;
    if (of != results.end())
      moments.push_back({static_cast<unsigned>(of - results.begin()),
                         static_cast<unsigned>(index), ofResult.getSums()});
  }
  return true;
}

/// Whether what a region yields depends on `argument` in another way than
/// through what it reduces: that is in registers when subtiles are computed.
static bool isNeeded(Operation *yield, BlockArgument argument) {
  SmallVector<Value> pending(yield->getOperands());
  DenseSet<Value> seen;
  for (auto reduction : yield->getBlock()->getOps<ReductionEpilogueOp>())
    seen.insert(reduction.getReducedInput());
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    if (value == argument)
      return true;
    Operation *defining = value.getDefiningOp();
    if (defining && seen.insert(value).second)
      llvm::append_range(pending, defining->getOperands());
  }
  return false;
}

/// Gives tensors four buffers: a copy takes longer than a subtile is computed.
/// Not if subtiles became so narrow that they spent their time on barriers, nor
/// where the multiplying warps have no registers for it.
bool SubtileLayout::placeDeep(ScheduleAttr schedule) {
  constexpr int64_t leastRows = 32, leastRowBytes = 64, mostAccumulators = 128;
  int64_t columns = getWgmmaColumns(schedule);
  for (int64_t width = 64; width != 0; width -= 8)
    if (isSwapped) {
      if (width >= std::min(leastRows, columns) &&
          (place(width, /*shares=*/true, /*buffers=*/4, schedule) ||
           place(width, /*shares=*/false, /*buffers=*/4, schedule)))
        return !isResident(schedule) || getNumBarriers() <= kSubtileBarriers;
    } else if (getAccumulators(schedule) <= mostAccumulators &&
               place(width, /*shares=*/true, /*buffers=*/4, schedule) &&
               operands[0].rowBytes >= leastRowBytes) {
      return true;
    }
  return false;
}

/// Of each buffer one that results are written, one that it is free unless
/// operands come to it, and one that these are loaded; one that they are asked
/// for.
int64_t SubtileLayout::getNumBarriers() const {
  int64_t ofBuffer = 1 + !areShared + !operands.empty();
  return ofBuffer * numBuffers + !operands.empty();
}

std::optional<SubtileLayout> SubtileLayout::choose(Block &body,
                                                   ValueRange operands,
                                                   ValueRange results,
                                                   ScheduleAttr schedule) {
  SubtileLayout subtiles;
  subtiles.isSwapped = schedule.hasSwappedOperands();
  auto add = [&](SmallVector<SubtileTensor> &tensors, Value matrix,
                 Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    tensors.push_back({matrix, value, type.getElementType(), /*rowBytes=*/0,
                       /*offset=*/0});
    bool takesBytes = &tensors == &subtiles.results && !subtiles.isSwapped;
    return canMove(type, takesBytes);
  };
  Operation *yield = body.getTerminator();
  for (auto [argument, matrix] : llvm::zip(
           body.getArguments().drop_front(schedule.getWeights()), operands))
    if (isMatrix(argument.getType()) && isNeeded(yield, argument) &&
        !add(subtiles.operands, matrix, argument))
      return std::nullopt;
  if (llvm::all_of(yield->getOperands(), TiledLinearOp::isOfRows))
    return std::nullopt;
  for (auto [value, matrix] : llvm::zip(yield->getOperands(), results))
    // What is found for columns or rows is stored in other ways.
    if (!TiledLinearOp::isOfColumns(value) && !TiledLinearOp::isOfRows(value) &&
        ((!isMatrix(value.getType()) && !subtiles.isSwapped) ||
         !add(subtiles.results, matrix, value)))
      return std::nullopt;
  if (!subtiles.addMoments(yield))
    return std::nullopt;
  bool isSwapped = subtiles.isSwapped;
  subtiles.rowBlocks = schedule.getTile()[isSwapped ? 1 : 0] /
                       schedule.getWarps()[isSwapped ? 1 : 0] / 16;
  if (subtiles.placeDeep(schedule))
    return subtiles;
  for (int64_t width = 64; width != 0; width -= 8) {
    // As wide as two of each matrix.
    if (subtiles.isSwapped && !isResident(schedule) &&
        subtiles.place(width, /*shares=*/true, /*buffers=*/4, schedule))
      return subtiles;
    for (bool shares : {false, true})
      if (subtiles.place(width, shares, shares ? 3 : 2, schedule))
        return subtiles;
  }
  return std::nullopt;
}
