//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits the epilogue of a tile of the transposed product, subtile by subtile.
//
//===----------------------------------------------------------------------===//

#include "SwappedEpilogue.h"

#include "tenon/Schedule/Wgmma/WgmmaSchedule.h"

#include "SwappedSubtile.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::tenon;

/// Accumulators of a thread at most that leave registers for operands.
static constexpr int64_t kRoomyAccumulators = 128;

SwappedEpilogue::SwappedEpilogue(TiledFrame &frame, TiledLinearOp op,
                                 std::optional<EpilogueSubtiles> subtiles)
    : frame(frame), b(frame.b), op(op), plan(*EpiloguePlan::get(*op.getBody())),
      rows(Subtile::kBlockRows) {
  if (subtiles) {
    rows = subtiles->rows;
    copies.emplace(frame, std::move(*subtiles));
  }
  // What comes after a reduction, if the region has one.
  for (BlockArgument operand : plan.getPhases().back().operands)
    if (operand != op.getAccumulator() &&
        EpiloguePlan::variesByRow(operand.getType()) &&
        !(copies && EpiloguePlan::variesByColumn(operand.getType())))
      perRow.push_back(operand);
  for (auto [index, value] : llvm::enumerate(op.getYield().getValues()))
    if (auto ofResult = value.getDefiningOp<MomentsOp>())
      moments.emplace_back(
          ofResult.getInput(),
          SwappedMoments(frame, getElementTypeOrSelf(ofResult.getInput()),
                         index));
  heldType = findHeldType();
  if (isLoop())
    copies->pauseNanoseconds = getPause();
}

Value SwappedEpilogue::getColumnInTile(int64_t number) {
  Value first = b.add(frame.warpColumn, b.shiftRight(frame.lane, 2));
  return b.add(first, number / Subtile::kColumns * EpilogueSubtiles::kRows +
                          number % Subtile::kColumns * 8);
}

size_t SwappedEpilogue::getColumn(size_t accumulator) const {
  size_t blocks = frame.geometry.tileM / Subtile::kBlockRows;
  return accumulator / Subtile::kElements / blocks * Subtile::kColumns +
         accumulator / Subtile::kRows % Subtile::kColumns;
}

/// The tensor of which `emit` is given the elements.
Value SwappedEpilogue::getComputed() {
  return finished ? finished->getReducedInput() : op.getAccumulator();
}

/// Loads what is the same in all rows of 64 columns.
void SwappedEpilogue::prepareColumns(const WorkItem &item, int64_t block) {
  const TileGeometry &geometry = frame.geometry;
  for (int64_t i = 0; i != Subtile::kColumns; ++i) {
    Value column =
        b.add(item.column, getColumnInTile(block * Subtile::kColumns + i));
    Value isInRange;
    if (geometry.hasRaggedColumns()) {
      isInRange = b.less(column, geometry.n);
      column = b.min(column, b.i32(geometry.n - 1));
    }
    columns.push_back(b.toI64(column));
    columnsInRange.push_back(isInRange);
    emitters.push_back(std::make_unique<ElementEmitter>(
        b, frame.operands, columns.back(), /*lanes=*/1));
    // Of a matrix of one row all is, the accumulators too.
    if (geometry.m != 1)
      emitters.back()->emitRowInvariant(plan.getPhases().back());
    if (finished)
      finished->loadOperands(*emitters.back(), /*lanes=*/1);
  }
}

//===----------------------------------------------------------------------===//
// Moments
//===----------------------------------------------------------------------===//

/// `elements` of a block are stored of `value`, or words of two.
void SwappedEpilogue::addMoments(Value value, ValueRange elements) {
  for (auto &[of, ofResult] : moments)
    if (of == value)
      ofResult.add(elements);
}

/// Of each 64 rows that a subtile ends.
void SwappedEpilogue::storeMoments(const WorkItem &item, int64_t number) {
  int64_t count = EpilogueSubtiles::kRows, tileM = frame.geometry.tileM;
  int64_t first = number * rows % tileM;
  int64_t column = number * rows / tileM * Subtile::kColumns;
  for (int64_t row = first / count * count; row + count <= first + rows;
       row += count)
    for (auto &[of, ofResult] : moments)
      ofResult.store(b.add(item.row, row),
                     ArrayRef(columns).slice(column, Subtile::kColumns),
                     ArrayRef(columnsInRange).slice(column, Subtile::kColumns));
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

void SwappedEpilogue::prepare(const WorkItem &item) {
  if (!copies)
    return;
  bool isRoomy = getAccumulators(frame.geometry.schedule) <= kRoomyAccumulators;
  if (isRoomy)
    prepareAll(item);
  // Without waits between them ptxas computes so many subtiles at once that
  // long epilogues spill.
  if (isRoomy || !isLong())
    copies->acquireAhead(copies->subtiles.getCount());
}

void SwappedEpilogue::prepareTile(const WorkItem &item) {
  if (getFirstHeld() == 0) {
    if (getHeldTensor() != op.getAccumulator())
      prepareColumns(item);
    return;
  }
  prepareOperands(item, 0, getFirstHeld());
  copies->acquireAhead(getFirstHeld());
}

void SwappedEpilogue::prepareAll(const WorkItem &item) {
  prepareOperands(item, 0, copies->subtiles.getCount());
}

void SwappedEpilogue::prepareHeld(const WorkItem &item) {
  if (!isLoop())
    return prepareOperands(item, getFirstHeld(), copies->subtiles.getCount());
  prepareColumns(item);
}

void SwappedEpilogue::prepareOperands(const WorkItem &item, int64_t first,
                                      int64_t end) {
  prepareRows(item, first, end);
  prepareColumns(item);
}

void SwappedEpilogue::prepareColumns(const WorkItem &item) {
  for (int64_t block = 0; block != frame.geometry.wgmmaBlocks(); ++block)
    prepareColumns(item, block);
}

unsigned SwappedEpilogue::getSubtileBlocks() const {
  return rows / Subtile::kBlockRows;
}

int64_t SwappedEpilogue::getSubtilesOfColumns() const {
  return frame.geometry.tileM / rows;
}

Value SwappedEpilogue::getFirstRow(Value number) {
  return b.mul(b.rem(number, getSubtilesOfColumns()), rows);
}

unsigned SwappedEpilogue::getFirstColumn(Value number) {
  std::optional<int64_t> known = getConstantIntValue(number);
  return (known ? *known : getFirstHeld()) / getSubtilesOfColumns() *
         Subtile::kColumns;
}

/// Blocks `begin` to `end` of a subtile, all of which come one after the other.
void SwappedEpilogue::emitBlocks(const WorkItem &item, Value number,
                                 unsigned begin, unsigned end,
                                 ValueRange ofStep, Value tensor,
                                 GetElements getElements) {
  // Else LLVM would keep the places of all subtiles from one to the next.
  frame.computePlace();
  unsigned column = getFirstColumn(number);
  if (column == emitters.size())
    prepareColumns(item, column / Subtile::kColumns);
  int64_t known = getConstantIntValue(number).value_or(0);
  if (finished && begin == 0 && known % getSubtilesOfColumns() == 0)
    for (unsigned i = column; i != column + Subtile::kColumns; ++i)
      finished->set(*emitters[i], getColumnInTile(i), /*lanes=*/1);
  Subtile subtile(*this, item, number, ofStep);
  subtile.loadOperands(begin, end);
  for (unsigned i = begin; i != end; ++i)
    subtile.emitBlock(i, tensor, getElements(i));
}

void SwappedEpilogue::emitSubtile(const WorkItem &item, int64_t number,
                                  GetElements getElements) {
  emitBlocks(item, b.i32(number), 0, getSubtileBlocks(), {}, getComputed(),
             getElements);
  copies->release(number, number + 1);
  storeMoments(item, number);
}

/// The tile's first `count` subtiles, `together` of them released at a time.
void SwappedEpilogue::emitSubtiles(const WorkItem &item, int64_t count,
                                   int64_t together, ValueRange accumulators) {
  unsigned blocks = getSubtileBlocks();
  for (int64_t number = 0; number != count; ++number) {
    emitBlocks(
        item, b.i32(number), 0, blocks, {}, getComputed(), [&](unsigned block) {
          return SmallVector<Value>(
              accumulators.slice((number * blocks + block) * Subtile::kElements,
                                 Subtile::kElements));
        });
    int64_t first = number / together * together;
    if (copies && (number + 1 == count || number + 1 == first + together))
      copies->release(first, number + 1);
    storeMoments(item, number);
  }
}

void SwappedEpilogue::forgetOperands() {
  emitters.clear();
  ofRows.clear();
  columns.clear();
  columnsInRange.clear();
}

void SwappedEpilogue::endTile() {
  if (copies)
    copies->endTile();
  forgetOperands();
}

void SwappedEpilogue::emit(const WorkItem &item, ValueRange accumulators) {
  size_t ofSubtile = getSubtileBlocks() * Subtile::kElements;
  emitSubtiles(item, accumulators.size() / ofSubtile, /*together=*/1,
               accumulators);
  endTile();
}
