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

void SwappedMoments::add(ValueRange elements) {
  size_t count = elements.size() / kColumns;
  for (unsigned column = 0; column != kColumns; ++column)
    llvm::append_range(waiting[column], elements.slice(column * count, count));
}

static bool isWord(Value value) { return value.getType().isInteger(32); }

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

void SwappedMoments::store(Value row, ArrayRef<Value> columns,
                           ArrayRef<Value> inRange) {
  Value part = b.bitAnd(frame.lane, kLanes - 1);
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
  ColumnMoments reducer(frame, {kRows, /*firstBit=*/1, /*endBit=*/kLanes});
  SmallVector<Moments> reduced =
      reducer.reduce(row, origins, extendColumns, getRow);
  int64_t scalars = MomentsOp::getNumScalars(elementType);
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
