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
#include "../Tiled/StoreLanes.h"
#include "../Tiled/Swizzle.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::tenon;

static constexpr int64_t kRows = EpilogueSubtiles::kRows;

SubtileMoments::SubtileMoments(TiledFrame &frame, const SubtileTensor &tensor,
                               Value memory)
    : frame(frame), b(frame.b), tensor(tensor), words(tensor.rowBytes / 16),
      parts(32 / words), neighbours(parts < 8 ? 8 / parts : 1),
      stride(neighbours * parts) {
  word = b.add(b.mul(b.bitAnd(frame.warp, 3), words),
               b.bitAnd(frame.lane, words - 1));
  part = b.shiftRight(frame.lane, llvm::Log2_64(words));
  firstRow = b.mul(part, neighbours);
  Value chunk = b.shiftRight(word, 2);
  Value inChunk = b.shiftLeft(b.bitAnd(word, 3), 2);
  topWord = b.offset(memory, b.shiftLeft(word, 2)); // its swizzle is 0
  for (int64_t i = 0; i != neighbours; ++i) {
    // The swizzle repeats every 8 rows, so it is that of all rows of the
    // thread that are multiples of the stride away.
    Value row = b.add(firstRow, i);
    Value place =
        b.shiftLeft(b.bitXor(chunk, getSwizzle(b, tensor.rowBytes, row)), 4);
    Value inBuffer =
        b.add(b.mul(row, tensor.rowBytes), b.bitOr(place, inChunk));
    firstWords.push_back(b.offset(memory, inBuffer));
  }
}

/// The thread's row number `index`, from its first.
int64_t SubtileMoments::getRow(int64_t index) const {
  return index / neighbours * stride + index % neighbours;
}

/// The values of a row's word, in f32.
SmallVector<Value> SubtileMoments::load(int64_t index) {
  Value pointer = b.offset(firstWords[index % neighbours],
                           index / neighbours * stride * tensor.rowBytes);
  return loadLanes(b, pointer, b.i32(0), tensor.elementType,
                   /*lanes=*/4 / tensor.elementBytes());
}

/// What the values of each column are relative to; null for zero.
SmallVector<Value> SubtileMoments::loadOrigins() {
  if (!tensor.elementType.isF32())
    return SmallVector<Value>(4 / tensor.elementBytes());
  return loadLanes(b, topWord, b.i32(0), tensor.elementType, /*lanes=*/1);
}

/// The thread's values by column; zero in rows that do not count.
SmallVector<SmallVector<Value>>
SubtileMoments::loadColumns(ArrayRef<Value> origins, ArrayRef<Value> inRange) {
  SmallVector<SmallVector<Value>> columns(origins.size());
  for (int64_t i = 0; i != rowsOfThread(); ++i)
    for (auto [column, value, origin] :
         llvm::zip_equal(columns, load(i), origins)) {
      if (origin)
        value = arith::SubFOp::create(b, value, origin);
      column.push_back(inRange.empty() ? value
                                       : b.select(inRange[i], value, b.f32(0)));
    }
  return columns;
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

Value SubtileMoments::exchange(Value value, int64_t distance) {
  return NVVM::ShflOp::create(b, b.getF32Type(), b.i32(-1), value,
                              b.i32(distance), b.i32(31), NVVM::ShflKind::bfly,
                              UnitAttr());
}

/// Of 64 rows: each thread's, then Chan's rule for parts of as many rows.
SubtileMoments::Moments SubtileMoments::reduce(ArrayRef<Value> values) {
  auto add = [&](Value x, Value y) -> Value {
    return arith::AddFOp::create(b, x, y);
  };
  auto scale = [&](Value x, float factor) -> Value {
    return arith::MulFOp::create(b, x, b.f32(factor));
  };
  float rows = rowsOfThread();
  Value mean = scale(sumOf(b, llvm::to_vector(values)), 1 / rows);
  Value m2 = sumSquares(b, values, mean, /*inRange=*/{});
  for (int64_t distance = words; distance != 32; distance *= 2, rows *= 2) {
    Value other = exchange(mean, distance), otherM2 = exchange(m2, distance);
    Value apart = arith::SubFOp::create(b, other, mean);
    // Both threads get the same bits.
    mean = scale(add(mean, other), 0.5f);
    m2 = LLVM::FMAOp::create(b, b.getF32Type(), apart, scale(apart, rows / 2),
                             add(m2, otherM2));
  }
  return {mean, m2};
}

/// Of those that are in range, for `share` of the mean each.
SubtileMoments::Moments SubtileMoments::reduce(ArrayRef<Value> values,
                                               ArrayRef<Value> inRange,
                                               Value share) {
  auto sumOverParts = [&](Value value) {
    for (int64_t distance = words; distance != 32; distance *= 2)
      value = arith::AddFOp::create(b, value, exchange(value, distance));
    return value;
  };
  Value sum = sumOverParts(sumOf(b, llvm::to_vector(values)));
  Value mean = arith::MulFOp::create(b, sum, share);
  return {mean, sumOverParts(sumSquares(b, values, mean, inRange))};
}

/// Those of block `block` of 64 rows, of which the first `left` count; all if
/// that is null.
void SubtileMoments::emit(Value output, Value block, Value column, Value left) {
  SmallVector<Value> inRange;
  Value share;
  if (left) {
    Value count = arith::UIToFPOp::create(b, b.getF32Type(), left);
    share = arith::DivFOp::create(b, b.f32(1), count);
    for (int64_t i = 0; i != rowsOfThread(); ++i)
      inRange.push_back(b.less(b.add(firstRow, getRow(i)), left));
  }
  // A mean for the lanes of the first part to store, M2 for those of the next.
  SmallVector<Value> stored;
  SmallVector<Value> origins = loadOrigins();
  for (auto [values, origin] :
       llvm::zip_equal(loadColumns(origins, inRange), origins)) {
    auto [mean, m2] = left ? reduce(values, inRange, share) : reduce(values);
    if (origin)
      mean = arith::AddFOp::create(b, origin, mean);
    stored.push_back(b.select(b.equal(part, 0), mean, m2));
  }
  Value row = b.toI64(b.add(b.shiftLeft(block, 1), part));
  Value place = b.add(b.mul(row, frame.geometry.n), b.toI64(column));
  Value stores = b.less(part, 2);
  if (frame.geometry.hasRaggedColumns())
    stores = b.both(stores, b.less(column, frame.geometry.n));
  emitStoreLanes(b, output, place, b.getF32Type(), stored, stores);
}

void SubtileMoments::store(Value output, Value row, Value column) {
  Value block = b.shiftRight(row, llvm::Log2_64(kRows));
  column = b.add(column, b.mul(word, 4 / tensor.elementBytes()));
  if (!frame.geometry.hasRaggedRows())
    return emit(output, block, column, /*left=*/Value());
  Value left = b.sub(frame.m, row);
  auto whole = scf::IfOp::create(b, b.less(left, kRows),
                                 /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(whole.thenBlock());
  frame.emitIf(b.less(b.i32(0), left),
               [&] { emit(output, block, column, left); });
  b.setInsertionPointToStart(whole.elseBlock());
  emit(output, block, column, /*left=*/Value());
}
