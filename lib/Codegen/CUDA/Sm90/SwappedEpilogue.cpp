//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits the epilogue's region on fragments of the transposed product.
//
//===----------------------------------------------------------------------===//

#include "SwappedEpilogue.h"

#include "../PackedElements.h"
#include "../Tiled/StoreLanes.h"
#include "SwappedFragments.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::tenon;

/// A thread's elements of a block of 8 rows: two columns of two.
static constexpr unsigned kColumns = 2, kRows = 2, kElements = kColumns * kRows;
static constexpr int64_t kBlockRows = 8;
/// Accumulators of a thread at most that leave registers for operands.
static constexpr int64_t kRoomyAccumulators = 128;

SwappedEpilogue::SwappedEpilogue(TiledFrame &frame, TiledLinearOp op,
                                 std::optional<EpilogueSubtiles> subtiles)
    : frame(frame), b(frame.b), op(op), plan(*EpiloguePlan::get(*op.getBody())),
      rows(kBlockRows) {
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
}

Value SwappedEpilogue::getColumnInTile(int64_t number) {
  Value first = b.add(frame.warpColumn, b.shiftRight(frame.lane, 2));
  return b.add(first, number / kColumns * EpilogueSubtiles::kRows +
                          number % kColumns * 8);
}

/// The tensor of which `emit` is given the elements.
Value SwappedEpilogue::getComputed() {
  return finished ? finished->getReducedInput() : op.getAccumulator();
}

/// Loads what is the same in all rows of 64 columns.
void SwappedEpilogue::prepareColumns(const WorkItem &item, int64_t block) {
  const TileGeometry &geometry = frame.geometry;
  for (int64_t i = 0; i != kColumns; ++i) {
    Value column = b.add(item.column, getColumnInTile(block * kColumns + i));
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
  int64_t column = number * rows / tileM * kColumns;
  for (int64_t row = first / count * count; row + count <= first + rows;
       row += count)
    for (auto &[of, ofResult] : moments)
      ofResult.store(b.add(item.row, row),
                     ArrayRef(columns).slice(column, kColumns),
                     ArrayRef(columnsInRange).slice(column, kColumns));
}

//===----------------------------------------------------------------------===//
// Subtiles
//===----------------------------------------------------------------------===//

/// A subtile while it is computed.
class SwappedEpilogue::Subtile {
public:
  Subtile(SwappedEpilogue &epilogue, const WorkItem &item, int64_t number);

  void loadOperands();
  void emitBlock(unsigned block, ValueRange accumulators);

private:
  Value getResult(Value value, unsigned block, unsigned element);
  void setElements(Value tensor, unsigned block, ValueRange elements);
  void storeElements(unsigned block);

  SwappedEpilogue &epilogue;
  KernelBuilder &b;
  int64_t number;
  unsigned firstColumn;    ///< the first of the thread's two, among all
  SmallVector<Value> rows; ///< the thread's
  SmallVector<SmallVector<Value>> ofOperands; ///< all elements of the thread
  SmallVector<SwappedFragments> results;
};

SwappedEpilogue::Subtile::Subtile(SwappedEpilogue &epilogue,
                                  const WorkItem &item, int64_t number)
    : epilogue(epilogue), b(epilogue.b), number(number) {
  TiledFrame &frame = epilogue.frame;
  int64_t perColumn = frame.geometry.tileM / epilogue.rows;
  firstColumn = number / perColumn * kColumns;
  Value firstRow = b.add(b.add(item.row, number % perColumn * epilogue.rows),
                         b.shiftLeft(b.bitAnd(frame.lane, 3), 1));
  for (int64_t block = 0; block != epilogue.rows; block += kBlockRows)
    for (unsigned i = 0; i != kRows; ++i)
      rows.push_back(b.add(firstRow, block + i));
  if (SubtileCopies *copies = epilogue.getCopies())
    for (const SubtileTensor &result : copies->subtiles.results)
      results.emplace_back(frame, copies->subtiles, result,
                           copies->getBuffer(result, number));
}

/// Loads the operands that differ from row to row.
void SwappedEpilogue::Subtile::loadOperands() {
  TiledFrame &frame = epilogue.frame;
  SmallVector<Value> clamped;
  for (Value row : rows) {
    if (frame.geometry.hasRaggedRows())
      row = b.min(row, b.sub(frame.m, 1));
    clamped.push_back(b.toI64(row));
  }
  for (unsigned i = 0; i != kColumns; ++i)
    epilogue.emitters[firstColumn + i]->beginRows(clamped, epilogue.perRow);
  SubtileCopies *copies = epilogue.getCopies();
  if (!copies)
    return;
  copies->waitForOperands(number);
  for (const SubtileTensor &operand : copies->subtiles.operands)
    ofOperands.push_back(SwappedFragments(frame, copies->subtiles, operand,
                                          copies->getBuffer(operand, number))
                             .load());
}

/// Of a matrix of one row the thread has one element a column that counts, and
/// what it computes of it stands for all.
void SwappedEpilogue::Subtile::setElements(Value tensor, unsigned block,
                                           ValueRange elements) {
  unsigned count = epilogue.frame.geometry.m == 1 ? 1 : kRows;
  for (unsigned column = 0; column != kColumns; ++column)
    for (unsigned row = 0; row != count; ++row)
      epilogue.emitters[firstColumn + column]->set(
          tensor, block * kRows + row, /*lane=*/0,
          elements[column * kRows + row]);
}

Value SwappedEpilogue::Subtile::getResult(Value value, unsigned block,
                                          unsigned element) {
  return epilogue.emitters[firstColumn + element / kRows]->get(
      value, block * kRows + element % kRows, /*lane=*/0);
}

/// Rounds elements to `type`, those of both columns at once.
static void roundElements(KernelBuilder &b, Type type,
                          MutableArrayRef<Value> elements) {
  if (type.getIntOrFloatBitWidth() != 16)
    return;
  for (unsigned row = 0; row != kRows; ++row) {
    Value &first = elements[row], &second = elements[kRows + row];
    Value pair = roundPairAtOnce(b, first, second, type);
    first = vector::ExtractOp::create(b, pair, 0);
    second = vector::ExtractOp::create(b, pair, 1);
  }
}

/// Stores the thread's elements of a block, all of which are computed first: an
/// operand may be the buffer of a result. What is found for columns is stored
/// later.
void SwappedEpilogue::Subtile::storeElements(unsigned block) {
  TiledFrame &frame = epilogue.frame;
  const TileGeometry &geometry = frame.geometry;
  ValueRange values = epilogue.op.getYield().getValues();
  SmallVector<SmallVector<Value>> elements;
  for (Value value : values) {
    elements.emplace_back();
    if (TiledLinearOp::isOfColumns(value))
      continue;
    for (unsigned i = 0; i != kElements; ++i)
      elements.back().push_back(getResult(value, block, i));
    roundElements(b, getElementTypeOrSelf(value), elements.back());
    epilogue.addMoments(value, elements.back());
  }
  for (unsigned i = 0; i != kElements; ++i) {
    Value row = rows[block * kRows + i % kRows];
    unsigned column = firstColumn + i / kRows;
    Value isInRange = epilogue.columnsInRange[column];
    if (geometry.hasRaggedRows()) {
      Value rowInRange = b.less(row, frame.m);
      isInRange = isInRange ? b.both(isInRange, rowInRange) : rowInRange;
    }
    Value place =
        b.add(b.mul(b.toI64(row), geometry.n), epilogue.columns[column]);
    for (auto [value, output, ofValue] :
         llvm::zip_equal(values, frame.outputs, elements))
      if (!ofValue.empty())
        emitStoreLanes(b, output, place, getElementTypeOrSelf(value),
                       ofValue[i], isInRange);
  }
}

/// Computes a block of the subtile, and writes its results.
void SwappedEpilogue::Subtile::emitBlock(unsigned block,
                                         ValueRange accumulators) {
  setElements(epilogue.getComputed(), block, accumulators);
  SubtileCopies *copies = epilogue.getCopies();
  if (!copies)
    return storeElements(block);
  for (auto [operand, elements] :
       llvm::zip(copies->subtiles.operands, ofOperands))
    setElements(operand.value, block,
                ValueRange(elements).slice(block * kElements, kElements));
  for (auto [result, tensor] :
       llvm::zip_equal(results, copies->subtiles.results)) {
    SmallVector<Value> elements;
    for (unsigned i = 0; i != kElements; ++i)
      elements.push_back(getResult(result.getUnbounded(), block, i));
    epilogue.addMoments(tensor.value, result.store(block, elements));
  }
}

void SwappedEpilogue::prepare(const WorkItem &item) {
  if (copies && getAccumulators(frame.geometry.schedule) <= kRoomyAccumulators)
    for (int64_t block = 0; block != frame.geometry.wgmmaBlocks(); ++block)
      prepareColumns(item, block);
}

void SwappedEpilogue::emit(const WorkItem &item, ValueRange accumulators) {
  if (copies)
    copies->beginTile();
  unsigned blocks = rows / kBlockRows;
  unsigned count = accumulators.size() / (blocks * kElements);
  for (unsigned number = 0; number != count; ++number) {
    // Else LLVM would keep the places of all subtiles from one to the next.
    frame.computePlace();
    int64_t block = number * rows / frame.geometry.tileM;
    if (block * kColumns == static_cast<int64_t>(emitters.size()))
      prepareColumns(item, block);
    if (finished && number * rows % frame.geometry.tileM == 0)
      for (int64_t i = block * kColumns; i != (block + 1) * kColumns; ++i)
        finished->set(*emitters[i], getColumnInTile(i), /*lanes=*/1);
    Subtile subtile(*this, item, number);
    subtile.loadOperands();
    for (unsigned i = 0; i != blocks; ++i)
      subtile.emitBlock(
          i, accumulators.slice((number * blocks + i) * kElements, kElements));
    if (copies)
      copies->store(item, number);
    storeMoments(item, number);
  }
  if (copies)
    copies->endTile();
  emitters.clear();
  columns.clear();
  columnsInRange.clear();
}
