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

/// The thread's values by column; zero in rows that do not count.
SmallVector<SmallVector<Value>>
SubtileMoments::loadColumns(ArrayRef<Value> inRange) {
  SmallVector<SmallVector<Value>> columns(4 / tensor.elementBytes());
  for (int64_t i = 0; i != rowsOfThread(); ++i)
    for (auto [column, value] : llvm::zip_equal(columns, load(i)))
      column.push_back(inRange.empty() ? value
                                       : b.select(inRange[i], value, b.f32(0)));
  return columns;
}

/// Adds up neighbours first, which errs less than one by one.
static Value sumOf(KernelBuilder &b, SmallVector<Value> values) {
  for (size_t count = values.size(); count != 1; count /= 2)
    for (size_t i = 0; i != count / 2; ++i)
      values[i] = arith::AddFOp::create(b, values[2 * i], values[2 * i + 1]);
  return values[0];
}

Value SubtileMoments::sumOverParts(Value value) {
  for (int64_t distance = words; distance != 32; distance *= 2)
    value = arith::AddFOp::create(
        b, value,
        NVVM::ShflOp::create(b, b.getF32Type(), b.i32(-1), value,
                             b.i32(distance), b.i32(31), NVVM::ShflKind::bfly,
                             UnitAttr()));
  return value;
}

/// Those of block `block` of 64 rows, of which the first `left` count; all if
/// that is null.
void SubtileMoments::emit(Value output, Value block, Value column, Value left) {
  SmallVector<Value> inRange;
  Value share = b.f32(1.0f / kRows);
  if (left) {
    Value count = arith::UIToFPOp::create(b, b.getF32Type(), left);
    share = arith::DivFOp::create(b, b.f32(1), count);
    for (int64_t i = 0; i != rowsOfThread(); ++i)
      inRange.push_back(b.less(b.add(firstRow, getRow(i)), left));
  }
  // A mean for the lanes of the first part to store, M2 for those of the next.
  SmallVector<Value> stored;
  for (ArrayRef<Value> values : loadColumns(inRange)) {
    Value sum = sumOverParts(sumOf(b, llvm::to_vector(values)));
    Value mean = arith::MulFOp::create(b, sum, share);
    Value squares = b.f32(0);
    for (auto [index, value] : llvm::enumerate(values)) {
      Value distance = arith::SubFOp::create(b, value, mean);
      if (left)
        distance = b.select(inRange[index], distance, b.f32(0));
      squares =
          LLVM::FMAOp::create(b, b.getF32Type(), distance, distance, squares);
    }
    squares = sumOverParts(squares);
    stored.push_back(b.select(b.equal(part, 0), mean, squares));
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
