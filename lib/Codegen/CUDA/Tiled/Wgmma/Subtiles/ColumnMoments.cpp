//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits the sums of a thread's rows, and Chan's rule among lanes.
//
//===----------------------------------------------------------------------===//

#include "ColumnMoments.h"

#include "Codegen/CUDA/Emit/SplitSum.h"
#include "EpilogueSubtiles.h"

using namespace mlir;
using namespace mlir::tenon;

static constexpr int64_t kRows = EpilogueSubtiles::kRows;

//===----------------------------------------------------------------------===//
// A thread's rows
//===----------------------------------------------------------------------===//

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
Moments ColumnMoments::reduceWhole(SmallVector<Value> values, Value origin) {
  Value first = values.front();
  values.erase(values.begin());
  subtract(b, values, first);
  Value sum = sumOf(b, values);
  Value mean = arith::MulFOp::create(b, sum, b.f32(1.0f / lanes.rows));
  Value squares = sumSquares(b, values);
  Value m2 = LLVM::FMAOp::create(b, b.getF32Type(),
                                 arith::NegFOp::create(b, sum), mean, squares);
  subtract(b, first, origin);
  return {origin, arith::AddFOp::create(b, first, mean), m2};
}

/// Of one that M cuts, where each row counts for `share` of the mean: this is
/// that of all lanes, and M2 is about it, so they combine all the same.
Moments ColumnMoments::reduceCut(SmallVector<Value> values, Value origin,
                                 ArrayRef<Value> inRange, Value share) {
  subtract(b, values, origin);
  mask(b, values, inRange);
  Value sum = sumOf(b, values);
  for (int64_t bit = lanes.firstBit; bit != lanes.endBit; bit *= 2)
    sum = arith::AddFOp::create(b, sum, b.shuffleXor(sum, bit));
  Value mean = arith::MulFOp::create(b, sum, share);
  subtract(b, values, mean);
  mask(b, values, inRange);
  return {origin, mean, sumSquares(b, values)};
}

/// Means of all columns, then M2; `share` is null where M cuts no rows. Or
/// sums.
SmallVector<Value> ColumnMoments::reduceColumns(ArrayRef<Value> origins,
                                                const Columns &columns,
                                                ArrayRef<Value> inRange,
                                                Value share) {
  SmallVector<Value> means, m2s;
  for (auto [values, origin] : llvm::zip_equal(columns, origins)) {
    if (sums) {
      SmallVector<Value> counted(values);
      if (share)
        mask(b, counted, inRange);
      means.push_back(sumOf(b, std::move(counted)));
      continue;
    }
    Moments reduced = share ? reduceCut(values, origin, inRange, share)
                            : reduceWhole(values, origin);
    means.push_back(reduced.mean);
    m2s.push_back(reduced.m2);
  }
  llvm::append_range(means, m2s);
  return means;
}

SmallVector<Moments>
ColumnMoments::reduce(Value row, ArrayRef<Value> origins,
                      llvm::function_ref<Columns()> load,
                      llvm::function_ref<Value(int64_t)> getRow) {
  auto reduceAll = [&] {
    return reduceColumns(origins, load(), /*inRange=*/{}, /*share=*/Value());
  };
  auto reduceFirst = [&](Value left) {
    Value count = arith::UIToFPOp::create(b, b.getF32Type(), left);
    Value share = arith::DivFOp::create(b, b.f32(1), count);
    SmallVector<Value> inRange;
    for (int64_t i = 0; i != lanes.rows; ++i)
      inRange.push_back(b.less(getRow(i), left));
    return reduceColumns(origins, load(), inRange, share);
  };
  SmallVector<Value> reduced;
  if (!frame.geometry.hasRaggedRows()) {
    reduced = reduceAll();
  } else {
    Value left = b.sub(frame.m, row);
    SmallVector<Type> types((sums ? 1 : 2) * origins.size(), b.getF32Type());
    auto branch = scf::IfOp::create(b, types, b.less(left, kRows),
                                    /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(b, reduceFirst(b.maxSigned(left, b.i32(1))));
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, reduceAll());
    reduced = branch.getResults();
  }
  SmallVector<Moments> columns;
  for (auto [index, origin] : llvm::enumerate(origins))
    columns.push_back({origin, reduced[index],
                       sums ? Value() : reduced[origins.size() + index]});
  return columns;
}

//===----------------------------------------------------------------------===//
// All rows
//===----------------------------------------------------------------------===//

/// Chan's rule for parts of as many rows.
void ColumnMoments::combine(Moments &ofColumn) {
  auto add = [&](Value x, Value y) -> Value {
    return arith::AddFOp::create(b, x, y);
  };
  auto scale = [&](Value x, float factor) -> Value {
    return arith::MulFOp::create(b, x, b.f32(factor));
  };
  auto &[origin, mean, m2] = ofColumn;
  float rows = lanes.rows;
  for (int64_t bit = lanes.firstBit; bit != lanes.endBit; bit *= 2, rows *= 2) {
    Value other = b.shuffleXor(mean, bit);
    if (sums) {
      mean = add(mean, other);
      continue;
    }
    Value otherM2 = b.shuffleXor(m2, bit);
    Value apart = arith::SubFOp::create(b, other, mean);
    // Both threads get the same bits.
    mean = scale(add(mean, other), 0.5f);
    m2 = LLVM::FMAOp::create(b, b.getF32Type(), apart, scale(apart, rows / 2),
                             add(m2, otherM2));
  }
}

Value ColumnMoments::getScalar(const Moments &ofColumn, Value part) {
  if (sums)
    return ofColumn.mean;
  Value mean = ofColumn.mean, other = ofColumn.m2;
  if (ofColumn.origin) {
    auto [rounded, rest] = emitSplitSum(b, ofColumn.origin, mean);
    mean = rounded;
    other = b.select(b.equal(part, 1), other, rest);
  }
  return b.select(b.equal(part, 0), mean, other);
}

Value ColumnMoments::getPlace(Value row, Value part, int64_t scalars) {
  Value block = b.shiftRight(row, llvm::Log2_64(kRows));
  return b.mul(b.toI64(b.add(b.mul(block, scalars), part)), frame.geometry.n);
}
