//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits the epilogue's region on a subtile of the transposed product.
//
//===----------------------------------------------------------------------===//

#include "SwappedSubtile.h"

#include "Codegen/CUDA/Emit/PackedElements.h"
#include "Codegen/CUDA/Tiled/StoreLanes.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::tenon;

SwappedSubtile::SwappedSubtile(SwappedTile &tile, const WorkItem &item,
                               Value number, ValueRange ofStep)
    : tile(tile), b(tile.b), number(number), ofStep(ofStep) {
  TiledFrame &frame = tile.frame;
  firstColumn = tile.getFirstColumn(number);
  inTile = tile.getFirstRow(number);
  Value firstRow = b.add(b.add(item.row, inTile), frame.getLanePair());
  for (int64_t block = 0; block != tile.plan.getSubtileRows();
       block += SwappedBlock::kBlockRows)
    for (unsigned i = 0; i != SwappedBlock::kRows; ++i)
      rows.push_back(b.add(firstRow, block + i));
  if (SubtileCopies *copies = tile.getCopies())
    for (const SubtileTensor &result : copies->subtiles.results)
      results.emplace_back(frame, copies->subtiles, result,
                           copies->getBuffer(result, number));
}

/// Loads the operands that differ from row to row.
void SwappedSubtile::loadOperands(unsigned begin, unsigned end) {
  TiledFrame &frame = tile.frame;
  SubtileCopies *copies = tile.getCopies();
  firstLoaded = begin;
  // Before loads, of which values would have to be kept meanwhile.
  if (copies && begin == 0)
    copies->acquire(number);
  SmallVector<Value> clamped;
  for (Value row : rows) {
    if (frame.geometry.hasRaggedRows())
      row = b.min(row, b.sub(frame.m, 1));
    clamped.push_back(b.toI64(row));
  }
  bool areLoaded = tile.rows.isPrepared() || !ofStep.empty();
  for (unsigned i = 0; i != SwappedBlock::kColumns; ++i)
    tile.columns.emitters[firstColumn + i]->beginRows(
        clamped,
        areLoaded ? ArrayRef<BlockArgument>() : tile.plan.getRowOperands());
  for (unsigned block = begin; areLoaded && block != end; ++block)
    setOfRows(block);
  if (!copies)
    return;
  for (const SubtileTensor &operand : copies->subtiles.operands)
    ofOperands.push_back(SwappedFragments(frame, copies->subtiles, operand,
                                          copies->getBuffer(operand, number))
                             .load(begin, end));
}

/// What number `operand` of those of a row has for row `row` of a block.
Value SwappedSubtile::getOfRow(unsigned operand, unsigned block, unsigned row) {
  if (ofStep.empty())
    return tile.rows.get(operand,
                         b.add(inTile, block * SwappedBlock::kBlockRows), row);
  size_t ofOperand = ofStep.size() / tile.plan.getRowOperands().size();
  return ofStep[operand * ofOperand +
                (block - firstLoaded) * SwappedBlock::kRows + row];
}

/// Gives what is loaded of a block's rows.
void SwappedSubtile::setOfRows(unsigned block) {
  for (auto [index, operand] : llvm::enumerate(tile.plan.getRowOperands()))
    for (unsigned row = 0; row != SwappedBlock::kRows; ++row) {
      Value value = getOfRow(index, block, row);
      for (unsigned column = 0; column != SwappedBlock::kColumns; ++column)
        tile.columns.emitters[firstColumn + column]->set(
            operand, block * SwappedBlock::kRows + row, /*lane=*/0, value);
    }
}

/// Of a matrix of one row the thread has one element a column that counts, and
/// what it computes of it stands for all.
void SwappedSubtile::setElements(Value tensor, unsigned block,
                                 ValueRange elements) {
  unsigned count = tile.frame.geometry.m == 1 ? 1 : SwappedBlock::kRows;
  for (unsigned column = 0; column != SwappedBlock::kColumns; ++column)
    for (unsigned row = 0; row != count; ++row)
      tile.columns.emitters[firstColumn + column]->set(
          tensor, block * SwappedBlock::kRows + row, /*lane=*/0,
          elements[column * SwappedBlock::kRows + row]);
}

Value SwappedSubtile::getResult(Value value, unsigned block, unsigned element) {
  return tile.columns.emitters[firstColumn + element / SwappedBlock::kRows]
      ->get(value, block * SwappedBlock::kRows + element % SwappedBlock::kRows,
            /*lane=*/0);
}

/// Rounds elements to `type`, those of both columns at once.
void SwappedSubtile::roundElements(Type type, MutableArrayRef<Value> elements) {
  if (type.getIntOrFloatBitWidth() != 16)
    return;
  for (unsigned row = 0; row != SwappedBlock::kRows; ++row) {
    Value &first = elements[row], &second = elements[SwappedBlock::kRows + row];
    Value pair = roundPair(b, first, second, type);
    first = vector::ExtractOp::create(b, pair, 0);
    second = vector::ExtractOp::create(b, pair, 1);
  }
}

/// Stores the thread's elements of a block, all of which are computed first: an
/// operand may be the buffer of a result. What is found for columns is stored
/// later.
void SwappedSubtile::storeElements(unsigned block) {
  TiledFrame &frame = tile.frame;
  const TileGeometry &geometry = frame.geometry;
  ValueRange values = tile.op.getYield().getValues();
  SmallVector<SmallVector<Value>> elements;
  for (Value value : values) {
    elements.emplace_back();
    if (TiledLinearOp::isOfColumns(value))
      continue;
    for (unsigned i = 0; i != SwappedBlock::kElements; ++i)
      elements.back().push_back(getResult(value, block, i));
    roundElements(getElementTypeOrSelf(value), elements.back());
    tile.addMoments(value, elements.back(), getRowsInRange(block));
  }
  for (unsigned i = 0; i != SwappedBlock::kElements; ++i) {
    Value row = rows[block * SwappedBlock::kRows + i % SwappedBlock::kRows];
    unsigned column = firstColumn + i / SwappedBlock::kRows;
    Value isInRange = tile.columns.inRange[column];
    if (geometry.hasRaggedRows()) {
      Value rowInRange = b.less(row, frame.m);
      isInRange = isInRange ? b.both(isInRange, rowInRange) : rowInRange;
    }
    Value place =
        b.add(b.mul(b.toI64(row), geometry.n), tile.columns.indices[column]);
    for (auto [value, output, ofValue] :
         llvm::zip_equal(values, frame.outputs, elements))
      if (!ofValue.empty())
        emitStoreLanes(b, output, place, getElementTypeOrSelf(value),
                       ofValue[i], isInRange);
  }
}

/// Which of a block's rows there are; none where M cuts none.
SmallVector<Value> SwappedSubtile::getRowsInRange(unsigned block) {
  if (!tile.frame.geometry.hasRaggedRows())
    return {};
  return llvm::map_to_vector(
      ArrayRef(rows).slice(block * SwappedBlock::kRows, SwappedBlock::kRows),
      [&](Value row) { return b.less(row, tile.frame.m); });
}

/// Adds up what is only reduced.
void SwappedSubtile::addUnstored(unsigned block) {
  for (Value value : tile.getUnstored()) {
    SmallVector<Value> elements;
    for (unsigned i = 0; i != SwappedBlock::kElements; ++i)
      elements.push_back(getResult(value, block, i));
    tile.addMoments(value, elements, getRowsInRange(block));
  }
}

/// Computes a block of the subtile, and writes its results.
void SwappedSubtile::emitBlock(unsigned block, ValueRange tensors,
                               ValueRange elements) {
  // Products have elements of their own. What is reduced and what is returned
  // of it have the same, which are given but once.
  for (auto [index, tensor] : llvm::enumerate(tensors))
    setElements(
        tensor, block,
        elements.slice(index * SwappedBlock::kElements % elements.size(),
                       SwappedBlock::kElements));
  SubtileCopies *copies = tile.getCopies();
  if (!copies) {
    storeElements(block);
    return addUnstored(block);
  }
  for (auto [operand, elements] :
       llvm::zip(copies->subtiles.operands, ofOperands))
    setElements(operand.value, block,
                ValueRange(elements).slice((block - firstLoaded) *
                                               SwappedBlock::kElements,
                                           SwappedBlock::kElements));
  for (auto [result, tensor] :
       llvm::zip_equal(results, copies->subtiles.results)) {
    SmallVector<Value> elements;
    for (unsigned i = 0; i != SwappedBlock::kElements; ++i)
      elements.push_back(getResult(result.getUnbounded(), block, i));
    tile.addMoments(tensor.value, result.store(block, elements),
                    getRowsInRange(block));
  }
  addUnstored(block);
}
