//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits moments of what the lanes have of columns.
//
//===----------------------------------------------------------------------===//

#include "SwappedMoments.h"

#include "Codegen/CUDA/Emit/ElementEmitter.h"
#include "Codegen/CUDA/Emit/PackedElements.h"
#include "Codegen/CUDA/Tiled/StoreLanes.h"

using namespace mlir;
using namespace mlir::tenon;

/// A thread's rows of 64: two neighbours of every 8.
static constexpr int64_t kRows = 16, kNeighbours = 2, kBlockRows = 8;
/// Lanes that have the same columns: neighbours.
static constexpr int64_t kLanes = 4;

static bool isWord(Value value) { return value.getType().isInteger(32); }

SwappedMoments::SwappedMoments(TiledFrame &frame, MomentsOp op, unsigned output)
    : frame(frame), b(frame.b), op(op),
      elementType(op.getInput().getType().getElementType()), output(output),
      reducer(frame, {kRows, /*firstBit=*/1, /*endBit=*/kLanes}, op.getSums()) {
}

//===----------------------------------------------------------------------===//
// A thread's rows
//===----------------------------------------------------------------------===//

void SwappedMoments::add(ValueRange elements, ArrayRef<Value> inRange) {
  size_t count = elements.size() / kColumns;
  for (unsigned column = 0; column != kColumns; ++column) {
    SmallVector<Value> rows(elements.slice(column * count, count));
    if (op.getSums())
      addToSum(column, extend(rows), inRange);
    else
      llvm::append_range(waiting[column], rows);
  }
  numSummed += kNeighbours;
}

/// Every 64 rows have a sum of their own.
void SwappedMoments::addToSum(unsigned column, ArrayRef<Value> rows,
                              ArrayRef<Value> inRange) {
  SmallVector<Value> &sums = waiting[column];
  if (numSummed % kRows == 0)
    sums.push_back(b.f32(0));
  for (auto [index, row] : llvm::enumerate(rows)) {
    Value counted =
        inRange.empty() ? row : b.select(inRange[index], row, b.f32(0));
    sums.back() = arith::AddFOp::create(b, sums.back(), counted);
  }
}

/// Those of the first 64, as they were added.
SmallVector<Value> SwappedMoments::takeRows(SmallVector<Value> &ofColumn) {
  auto *end = ofColumn.begin() + (isWord(ofColumn.front()) ? kRows / 2 : kRows);
  SmallVector<Value> rows(ofColumn.begin(), end);
  ofColumn.erase(ofColumn.begin(), end);
  return rows;
}

/// As f32.
SmallVector<Value> SwappedMoments::extend(ArrayRef<Value> rows) {
  SmallVector<Value> elements;
  for (Value value : rows)
    if (isWord(value))
      elements.append(extendElements(
          b,
          LLVM::BitcastOp::create(b, VectorType::get(2, elementType), value)));
    else
      elements.push_back(castFloat(b, value, b.getF32Type()));
  return elements;
}

//===----------------------------------------------------------------------===//
// All rows
//===----------------------------------------------------------------------===//

SmallVector<Moments> SwappedMoments::takeSums() {
  SmallVector<Moments> taken;
  for (SmallVector<Value> &ofColumn : waiting) {
    taken.push_back({Value(), ofColumn.front(), Value()});
    ofColumn.erase(ofColumn.begin());
  }
  return taken;
}

SmallVector<Moments> SwappedMoments::takeMoments(Value row, Value part) {
  ColumnMoments::Columns taken;
  SmallVector<Value> origins;
  for (SmallVector<Value> &ofColumn : waiting) {
    taken.push_back(takeRows(ofColumn));
    origins.push_back(
        elementType.isF32()
            ? b.shuffleFrom(taken.back().front(), b.bitAnd(frame.lane, -kLanes))
            : Value());
  }
  auto extendColumns = [&] {
    return llvm::map_to_vector(
        taken, [&](ArrayRef<Value> rows) { return extend(rows); });
  };
  auto getRow = [&](int64_t i) {
    int64_t ofLane = i / kNeighbours * kBlockRows + i % kNeighbours;
    return b.add(b.mul(part, kNeighbours), ofLane);
  };
  return reducer.reduce(row, origins, extendColumns, getRow);
}

void SwappedMoments::store(Value row, ArrayRef<Value> columns,
                           ArrayRef<Value> inRange) {
  Value part = b.bitAnd(frame.lane, kLanes - 1);
  SmallVector<Moments> reduced =
      op.getSums() ? takeSums() : takeMoments(row, part);
  int64_t scalars = op.getNumScalars();
  Value place = reducer.getPlace(row, part, scalars);
  Value stores = b.less(part, scalars);
  if (frame.geometry.hasRaggedRows())
    stores = b.both(stores, b.less(row, frame.m));
  for (auto [ofColumn, column, isColumn] :
       llvm::zip_equal(reduced, columns, inRange)) {
    reducer.combine(ofColumn);
    emitStoreLanes(b, frame.outputs[output], b.add(place, column),
                   b.getF32Type(), reducer.getScalar(ofColumn, part),
                   isColumn ? b.both(stores, isColumn) : stores);
  }
}
