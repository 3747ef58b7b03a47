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

SwappedEpilogue::Subtile::Subtile(SwappedEpilogue &epilogue,
                                  const WorkItem &item, Value number,
                                  ValueRange ofStep)
    : epilogue(epilogue), b(epilogue.b), number(number), ofStep(ofStep) {
  TiledFrame &frame = epilogue.frame;
  firstColumn = epilogue.getFirstColumn(number);
  inTile = epilogue.getFirstRow(number);
  Value firstRow = b.add(b.add(item.row, inTile), frame.getLanePair());
  for (int64_t block = 0; block != epilogue.rows; block += kBlockRows)
    for (unsigned i = 0; i != kRows; ++i)
      rows.push_back(b.add(firstRow, block + i));
  if (SubtileCopies *copies = epilogue.getCopies())
    for (const SubtileTensor &result : copies->subtiles.results)
      results.emplace_back(frame, copies->subtiles, result,
                           copies->getBuffer(result, number));
}

/// Loads the operands that differ from row to row.
void SwappedEpilogue::Subtile::loadOperands(unsigned begin, unsigned end) {
  TiledFrame &frame = epilogue.frame;
  SubtileCopies *copies = epilogue.getCopies();
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
  bool areLoaded = !epilogue.ofRows.empty() || !ofStep.empty();
  for (unsigned i = 0; i != kColumns; ++i)
    epilogue.emitters[firstColumn + i]->beginRows(
        clamped, areLoaded ? ArrayRef<BlockArgument>() : epilogue.perRow);
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
Value SwappedEpilogue::Subtile::getOfRow(unsigned operand, unsigned block,
                                         unsigned row) {
  if (ofStep.empty())
    return epilogue.getOfRow(operand, b.add(inTile, block * kBlockRows), row);
  size_t ofOperand = ofStep.size() / epilogue.perRow.size();
  return ofStep[operand * ofOperand + (block - firstLoaded) * kRows + row];
}

/// Gives what is loaded of a block's rows.
void SwappedEpilogue::Subtile::setOfRows(unsigned block) {
  for (auto [index, operand] : llvm::enumerate(epilogue.perRow))
    for (unsigned row = 0; row != kRows; ++row) {
      Value value = getOfRow(index, block, row);
      for (unsigned column = 0; column != kColumns; ++column)
        epilogue.emitters[firstColumn + column]->set(
            operand, block * kRows + row, /*lane=*/0, value);
    }
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
void SwappedEpilogue::Subtile::roundElements(Type type,
                                             MutableArrayRef<Value> elements) {
  if (type.getIntOrFloatBitWidth() != 16)
    return;
  for (unsigned row = 0; row != kRows; ++row) {
    Value &first = elements[row], &second = elements[kRows + row];
    Value pair = roundPair(b, first, second, type);
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
    roundElements(getElementTypeOrSelf(value), elements.back());
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
void SwappedEpilogue::Subtile::emitBlock(unsigned block, Value tensor,
                                         ValueRange elements) {
  setElements(tensor, block, elements);
  SubtileCopies *copies = epilogue.getCopies();
  if (!copies)
    return storeElements(block);
  for (auto [operand, elements] :
       llvm::zip(copies->subtiles.operands, ofOperands))
    setElements(operand.value, block,
                ValueRange(elements).slice((block - firstLoaded) * kElements,
                                           kElements));
  for (auto [result, tensor] :
       llvm::zip_equal(results, copies->subtiles.results)) {
    SmallVector<Value> elements;
    for (unsigned i = 0; i != kElements; ++i)
      elements.push_back(getResult(result.getUnbounded(), block, i));
    epilogue.addMoments(tensor.value, result.store(block, elements));
  }
}
