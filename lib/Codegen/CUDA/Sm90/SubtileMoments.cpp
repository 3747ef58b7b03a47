//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits the loads, the two passes and the stores.
//
//===----------------------------------------------------------------------===//

#include "SubtileMoments.h"

#include "../ElementEmitter.h"
#include "../SplitSum.h"
#include "../Tiled/StoreLanes.h"
#include "../Tiled/Swizzle.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
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

/// The thread's values by column, relative to the origins; zero in rows that do
/// not count.
SmallVector<SmallVector<Value>>
SubtileMoments::loadColumns(ArrayRef<Value> places, ArrayRef<Value> inRange) {
  SmallVector<SmallVector<Value>> values(columns.size());
  for (int64_t i = 0; i != rowsOfThread(); ++i)
    for (auto [ofColumn, value, moments] :
         llvm::zip_equal(values, load(places[i]), columns)) {
      if (moments.origin)
        value = arith::SubFOp::create(b, value, moments.origin);
      ofColumn.push_back(
          inRange.empty() ? value : b.select(inRange[i], value, b.f32(0)));
    }
  return values;
}

/// Adds up neighbours first, which errs less than one by one.
static Value sumOf(KernelBuilder &b, SmallVector<Value> values) {
  for (size_t count = values.size(); count != 1; count /= 2)
    for (size_t i = 0; i != count / 2; ++i)
      values[i] = arith::AddFOp::create(b, values[2 * i], values[2 * i + 1]);
  return values[0];
}

/// The sum of the squared distances from `mean`, as a few chains of additions:
/// one alone would be as long as the column.
static Value sumSquares(KernelBuilder &b, ArrayRef<Value> values, Value mean,
                        ArrayRef<Value> inRange) {
  constexpr size_t kChains = 4;
  SmallVector<Value> sums(kChains, b.f32(0));
  for (auto [index, value] : llvm::enumerate(values)) {
    Value distance = arith::SubFOp::create(b, value, mean);
    if (!inRange.empty())
      distance = b.select(inRange[index], distance, b.f32(0));
    Value &sum = sums[index % kChains];
    sum = LLVM::FMAOp::create(b, b.getF32Type(), distance, distance, sum);
  }
  return sumOf(b, std::move(sums));
}

/// Means of all columns, then M2. Of the first `left` rows of the subtile: the
/// thread's M2 is then about the mean of all parts, which combine all the same.
SmallVector<Value> SubtileMoments::reduce(ArrayRef<Value> places, Value left) {
  SmallVector<Value> inRange, means, m2s;
  Value share = b.f32(1.0f / rowsOfThread());
  if (left) {
    Value count = arith::UIToFPOp::create(b, b.getF32Type(), left);
    share = arith::DivFOp::create(b, b.f32(1), count);
    Value firstRow = b.mul(getPart(), neighbours);
    for (int64_t i = 0; i != rowsOfThread(); ++i)
      inRange.push_back(b.less(b.add(firstRow, getRow(i)), left));
  }
  for (ArrayRef<Value> values : loadColumns(places, inRange)) {
    Value sum = sumOf(b, llvm::to_vector(values));
    for (int64_t distance = words; left && distance != 32; distance *= 2)
      sum = arith::AddFOp::create(b, sum, exchange(sum, distance));
    means.push_back(arith::MulFOp::create(b, sum, share));
    m2s.push_back(sumSquares(b, values, means.back(), inRange));
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
    reduced = reduce(places, /*left=*/Value());
  } else {
    Value left = b.sub(frame.m, row);
    SmallVector<Type> types(2 * columns.size(), b.getF32Type());
    auto branch = scf::IfOp::create(b, types, b.less(left, kRows),
                                    /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(b, reduce(places, b.maxSigned(left, b.i32(1))));
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, reduce(places, /*left=*/Value()));
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

Value SubtileMoments::exchange(Value value, int64_t distance) {
  return NVVM::ShflOp::create(b, b.getF32Type(), b.i32(-1), value,
                              b.i32(distance), b.i32(31), NVVM::ShflKind::bfly,
                              UnitAttr());
}

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
    Value other = exchange(mean, distance), otherM2 = exchange(m2, distance);
    Value apart = arith::SubFOp::create(b, other, mean);
    // Both threads get the same bits.
    mean = scale(add(mean, other), 0.5f);
    m2 = LLVM::FMAOp::create(b, b.getF32Type(), apart, scale(apart, rows / 2),
                             add(m2, otherM2));
  }
}

void SubtileMoments::store(Value output, Value row, Value column) {
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
  Value stores = b.less(part, scalars);
  if (frame.geometry.hasRaggedColumns())
    stores = b.both(stores, b.less(column, frame.geometry.n));
  if (frame.geometry.hasRaggedRows())
    stores = b.both(stores, b.less(row, frame.m));
  emitStoreLanes(b, output, place, b.getF32Type(), stored, stores);
}
