//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the subtiles of a tile share, and how it ends.
//
//===----------------------------------------------------------------------===//

#include "SwappedTile.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::tenon;

static std::optional<SubtileCopies>
createCopies(TiledFrame &frame, std::optional<EpilogueSubtiles> subtiles) {
  if (!subtiles)
    return std::nullopt;
  return std::optional<SubtileCopies>(std::in_place, frame,
                                      std::move(*subtiles));
}

SwappedTile::SwappedTile(TiledFrame &frame, TiledLinearOp op,
                         std::optional<EpilogueSubtiles> subtiles)
    : frame(frame), b(frame.b), op(op),
      copies(createCopies(frame, std::move(subtiles))),
      plan(frame.geometry, op, copies ? &copies->subtiles : nullptr),
      rows(frame, plan), columns(frame, plan) {
  for (auto [index, value] : llvm::enumerate(op.getYield().getValues()))
    if (auto ofValue = value.getDefiningOp<MomentsOp>())
      moments.emplace_back(frame, ofValue, index);
  if (plan.isLoop())
    copies->pauseNanoseconds = plan.getPause();
}

void SwappedTile::addMoments(Value value, ValueRange elements,
                             ArrayRef<Value> inRange) {
  for (SwappedMoments &ofValue : moments)
    if (ofValue.getInput() == value)
      ofValue.add(elements, inRange);
}

SmallVector<Value> SwappedTile::getUnstored() {
  llvm::SmallSetVector<Value, 2> unstored;
  for (SwappedMoments &ofValue : moments)
    if (!llvm::is_contained(op.getYield().getValues(), ofValue.getInput()))
      unstored.insert(ofValue.getInput());
  return unstored.takeVector();
}

void SwappedTile::storeMoments(const WorkItem &item, int64_t number) {
  int64_t count = EpilogueSubtiles::kRows, tileM = frame.geometry.tileM;
  int64_t rows = plan.getSubtileRows();
  int64_t first = number * rows % tileM;
  int64_t column = number * rows / tileM * SwappedBlock::kColumns;
  for (int64_t row = first / count * count; row + count <= first + rows;
       row += count)
    for (SwappedMoments &ofValue : moments)
      ofValue.store(
          b.add(item.row, row),
          ArrayRef(columns.indices).slice(column, SwappedBlock::kColumns),
          ArrayRef(columns.inRange).slice(column, SwappedBlock::kColumns));
}

Value SwappedTile::getFirstRow(Value number) {
  return b.mul(b.rem(number, plan.getSubtilesOfColumns()),
               plan.getSubtileRows());
}

unsigned SwappedTile::getFirstColumn(Value number) {
  std::optional<int64_t> known = getConstantIntValue(number);
  return (known ? *known : plan.getFirstHeld()) / plan.getSubtilesOfColumns() *
         SwappedBlock::kColumns;
}

void SwappedTile::forgetOperands() {
  rows.forget();
  columns.forget();
}

void SwappedTile::end() {
  if (copies)
    copies->endTile();
  forgetOperands();
}
