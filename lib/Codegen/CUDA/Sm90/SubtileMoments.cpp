//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits the loads, the sums and the stores.
//
//===----------------------------------------------------------------------===//

#include "SubtileMoments.h"

#include "../ElementEmitter.h"
#include "../SplitSum.h"
#include "../Tiled/StoreLanes.h"
#include "../Tiled/Swizzle.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::tenon;

static constexpr int64_t kRows = EpilogueSubtiles::kRows;

SubtileMoments::SubtileMoments(TiledFrame &frame, const SubtileTensor &tensor)
    : frame(frame), b(frame.b), tensor(tensor), words(tensor.rowBytes / 16),
      parts(32 / words), neighbours(parts < 8 ? 8 / parts : 1),
      stride(neighbours * parts) {}

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
SmallVector<SmallVector<Value>>
SubtileMoments::loadColumns(ArrayRef<Value> places) {
  SmallVector<SmallVector<Value>> values(columns.size());
  for (int64_t i = 0; i != rowsOfThread(); ++i)
    for (auto [ofColumn, value] : llvm::zip_equal(values, load(places[i])))
      ofColumn.push_back(value);
  return values;
}

/// All less `amount`, if that is not null.
static void subtract(KernelBuilder &b, MutableArrayRef<Value> values,
                     Value amount) {
  for (Value &value : values)
    if (amount)
      value = arith::SubFOp::create(b, value, amount);
}

/// Zero where they do not count.
static void mask(KernelBuilder &b, MutableArrayRef<Value> values,
                 ArrayRef<Value> inRange) {
  for (auto [value, counts] : llvm::zip_equal(values, inRange))
    value = b.select(counts, value, b.f32(0));
}

/// Adds up neighbours first, which errs less than one by one.
static Value sumOf(KernelBuilder &b, SmallVector<Value> values) {
  while (values.size() != 1) {
    for (size_t i = 0; i != values.size() / 2; ++i)
      values[i] = arith::AddFOp::create(b, values[2 * i], values[2 * i + 1]);
    if (values.size() % 2 == 1)
      values[values.size() / 2] = values.back();
    values.resize((values.size() + 1) / 2);
  }
  return values[0];
}

/// As a few chains of additions: one alone would be as long as the column.
static Value sumSquares(KernelBuilder &b, ArrayRef<Value> values) {
  constexpr size_t kChains = 4;
  SmallVector<Value> sums(std::min(kChains, values.size()), b.f32(0));
  for (auto [index, value] : llvm::enumerate(values)) {
    Value &sum = sums[index % kChains];
    sum = LLVM::FMAOp::create(b, b.getF32Type(), value, value, sum);
  }
  return sumOf(b, std::move(sums));
}

/// Of a block that has all rows.
SubtileMoments::Moments SubtileMoments::reduce(SmallVector<Value> values,
                                               Value origin) {
  Value first = values.front();
  values.erase(values.begin());
  subtract(b, values, first);
  Value sum = sumOf(b, values);
  Value mean = arith::MulFOp::create(b, sum, b.f32(1.0f / rowsOfThread()));
  Value squares = sumSquares(b, values);
  Value m2 = LLVM::FMAOp::create(b, b.getF32Type(),
                                 arith::NegFOp::create(b, sum), mean, squares);
  subtract(b, first, origin);
  return {origin, arith::AddFOp::create(b, first, mean), m2};
}

/// Of one that M cuts, where each row counts for `share` of the mean: this is
/// that of all parts, and M2 is about it, so they combine all the same.
SubtileMoments::Moments SubtileMoments::reduce(SmallVector<Value> values,
                                               Value origin,
                                               ArrayRef<Value> inRange,
                                               Value share) {
  subtract(b, values, origin);
  mask(b, values, inRange);
  Value sum = sumOf(b, values);
  for (int64_t distance = words; distance != 32; distance *= 2)
    sum = arith::AddFOp::create(b, sum, b.shuffleXor(sum, distance));
  Value mean = arith::MulFOp::create(b, sum, share);
  subtract(b, values, mean);
  mask(b, values, inRange);
  return {origin, mean, sumSquares(b, values)};
}

/// Means of all columns, then M2; of the first `left` rows of the subtile, or
/// of all if that is null.
SmallVector<Value> SubtileMoments::reduceColumns(ArrayRef<Value> places,
                                                 Value left) {
  SmallVector<Value> inRange, means, m2s;
  Value share;
  if (left) {
    Value count = arith::UIToFPOp::create(b, b.getF32Type(), left);
    share = arith::DivFOp::create(b, b.f32(1), count);
    Value firstRow = b.mul(getPart(), neighbours);
    for (int64_t i = 0; i != rowsOfThread(); ++i)
      inRange.push_back(b.less(b.add(firstRow, getRow(i)), left));
  }
  for (auto [values, ofColumn] :
       llvm::zip_equal(loadColumns(places), columns)) {
    Moments reduced = left ? reduce(values, ofColumn.origin, inRange, share)
                           : reduce(values, ofColumn.origin);
    means.push_back(reduced.mean);
    m2s.push_back(reduced.m2);
  }
  llvm::append_range(means, m2s);
  return means;
}

void SubtileMoments::read(Value memory, Value row) {
  SmallVector<Value> places = getPlaces(memory);
  columns.resize(columnsOfWord());
  if (tensor.elementType.isF32())
    columns[0].origin = load(places.back())[0];
  SmallVector<Value> reduced;
  if (!frame.geometry.hasRaggedRows()) {
    reduced = reduceColumns(places, /*left=*/Value());
  } else {
    Value left = b.sub(frame.m, row);
    SmallVector<Type> types(2 * columns.size(), b.getF32Type());
    auto branch = scf::IfOp::create(b, types, b.less(left, kRows),
                                    /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(b, reduceColumns(places, b.maxSigned(left, b.i32(1))));
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, reduceColumns(places, /*left=*/Value()));
    reduced = branch.getResults();
  }
  for (auto [index, ofColumn] : llvm::enumerate(columns)) {
    ofColumn.mean = reduced[index];
    ofColumn.m2 = reduced[columns.size() + index];
  }
}

//===----------------------------------------------------------------------===//
// All rows
//===----------------------------------------------------------------------===//

/// Chan's rule for parts of as many rows, over the lanes with the same word.
void SubtileMoments::combineParts(Moments &ofColumn) {
  auto add = [&](Value x, Value y) -> Value {
    return arith::AddFOp::create(b, x, y);
  };
  auto scale = [&](Value x, float factor) -> Value {
    return arith::MulFOp::create(b, x, b.f32(factor));
  };
  auto &[origin, mean, m2] = ofColumn;
  float rows = rowsOfThread();
  for (int64_t distance = words; distance != 32; distance *= 2, rows *= 2) {
    Value other = b.shuffleXor(mean, distance),
          otherM2 = b.shuffleXor(m2, distance);
    Value apart = arith::SubFOp::create(b, other, mean);
    // Both threads get the same bits.
    mean = scale(add(mean, other), 0.5f);
    m2 = LLVM::FMAOp::create(b, b.getF32Type(), apart, scale(apart, rows / 2),
                             add(m2, otherM2));
  }
}

void SubtileMoments::store(Value output, Value row, Value column,
                           int64_t inTile) {
  // A mean for the lanes of the first part to store, M2 for those of the next,
  // and of f32 the rest of the mean for those of the third.
  Value part = getPart();
  SmallVector<Value> stored;
  for (Moments &ofColumn : columns) {
    combineParts(ofColumn);
    Value mean = ofColumn.mean, other = ofColumn.m2;
    if (ofColumn.origin) {
      auto [rounded, rest] = emitSplitSum(b, ofColumn.origin, mean);
      mean = rounded;
      other = b.select(b.equal(part, 1), other, rest);
    }
    stored.push_back(b.select(b.equal(part, 0), mean, other));
  }
  int64_t scalars = MomentsOp::getNumScalars(tensor.elementType);
  Value block = b.shiftRight(row, llvm::Log2_64(kRows));
  column = b.add(column, b.mul(getWord(), columnsOfWord()));
  Value place = b.add(
      b.mul(b.toI64(b.add(b.mul(block, scalars), part)), frame.geometry.n),
      b.toI64(column));
  place = b.add(place, inTile); // last: it becomes a part of the instruction
  Value stores = b.less(part, scalars);
  if (frame.geometry.hasRaggedColumns())
    stores = b.both(stores, b.less(column, frame.geometry.n - inTile));
  if (frame.geometry.hasRaggedRows())
    stores = b.both(stores, b.less(row, frame.m));
  emitStoreLanes(b, output, place, b.getF32Type(), stored, stores);
}
