//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits the loads and the stores.
//
//===----------------------------------------------------------------------===//

#include "SubtileMoments.h"

#include "Codegen/CUDA/Emit/ElementEmitter.h"
#include "Codegen/CUDA/Tiled/StoreLanes.h"
#include "Codegen/CUDA/Tiled/Swizzle.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::tenon;

SubtileMoments::SubtileMoments(TiledFrame &frame, const SubtileTensor &tensor,
                               bool sums)
    : frame(frame), b(frame.b), tensor(tensor), sums(sums),
      words(tensor.rowBytes / 16), parts(32 / words),
      neighbours(parts < 8 ? 8 / parts : 1), stride(neighbours * parts) {}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

/// The thread's, in its row.
Value SubtileMoments::getWord() {
  return b.add(b.mul(b.bitAnd(frame.warp, 3), words),
               b.bitAnd(frame.lane, words - 1));
}

Value SubtileMoments::getPart() {
  return b.shiftRight(frame.lane, llvm::Log2_64(words));
}

/// The thread's row number `index`, from its first.
int64_t SubtileMoments::getRow(int64_t index) const {
  return index / neighbours * stride + index % neighbours;
}

/// Where the thread's word lies in each of its rows, and in the first of all.
SmallVector<Value> SubtileMoments::getPlaces(Value memory) {
  Value word = getWord();
  Value chunk = b.shiftRight(word, 2);
  Value inChunk = b.shiftLeft(b.bitAnd(word, 3), 2);
  SmallVector<Value> first, places;
  for (int64_t i = 0; i != neighbours; ++i) {
    // The swizzle repeats every 8 rows, so it is that of all rows of the
    // thread that are multiples of the stride away.
    Value row = b.add(b.mul(getPart(), neighbours), i);
    Value place =
        b.shiftLeft(b.bitXor(chunk, getSwizzle(b, tensor.rowBytes, row)), 4);
    Value inBuffer =
        b.add(b.mul(row, tensor.rowBytes), b.bitOr(place, inChunk));
    first.push_back(b.offset(memory, inBuffer));
  }
  for (int64_t i = 0; i != rowsOfThread(); ++i)
    places.push_back(b.offset(first[i % neighbours],
                              i / neighbours * stride * tensor.rowBytes));
  places.push_back(b.offset(memory, b.shiftLeft(word, 2))); // its swizzle is 0
  return places;
}

//===----------------------------------------------------------------------===//
// A thread's rows
//===----------------------------------------------------------------------===//

/// The values of a row's word, in f32.
SmallVector<Value> SubtileMoments::load(Value place) {
  return loadLanes(b, place, b.i32(0), tensor.elementType, columnsOfWord());
}

/// The thread's values by column.
ColumnMoments::Columns SubtileMoments::loadColumns(ArrayRef<Value> places) {
  ColumnMoments::Columns values(columnsOfWord());
  for (int64_t i = 0; i != rowsOfThread(); ++i)
    for (auto [ofColumn, value] : llvm::zip_equal(values, load(places[i])))
      ofColumn.push_back(value);
  return values;
}

/// The lanes with the same word have rows of the same columns.
ColumnMoments SubtileMoments::getReducer() {
  return {frame, {rowsOfThread(), /*firstBit=*/words, /*endBit=*/32}, sums};
}

void SubtileMoments::read(Value memory, Value row) {
  SmallVector<Value> places = getPlaces(memory);
  SmallVector<Value> origins(columnsOfWord());
  if (tensor.elementType.isF32() && !sums)
    origins[0] = load(places.back())[0];
  columns = getReducer().reduce(
      row, origins, [&] { return loadColumns(places); },
      [&](int64_t i) {
        return b.add(b.mul(getPart(), neighbours), getRow(i));
      });
}

void SubtileMoments::store(Value output, Value row, Value column,
                           int64_t inTile) {
  // A mean for the lanes of the first part to store, M2 for those of the next,
  // and of f32 the rest of the mean for those of the third.
  Value part = getPart();
  SmallVector<Value> stored;
  ColumnMoments reducer = getReducer();
  for (Moments &ofColumn : columns) {
    reducer.combine(ofColumn);
    stored.push_back(reducer.getScalar(ofColumn, part));
  }
  int64_t scalars = MomentsOp::getNumScalars(tensor.elementType, sums);
  column = b.add(column, b.mul(getWord(), columnsOfWord()));
  Value place = b.add(reducer.getPlace(row, part, scalars), b.toI64(column));
  place = b.add(place, inTile); // last: it becomes a part of the instruction
  Value stores = b.less(part, scalars);
  if (frame.geometry.hasRaggedColumns())
    stores = b.both(stores, b.less(column, frame.geometry.n - inTile));
  if (frame.geometry.hasRaggedRows())
    stores = b.both(stores, b.less(row, frame.m));
  emitStoreLanes(b, output, place, b.getF32Type(), stored, stores);
}
