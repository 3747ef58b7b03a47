//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Keeps a reduction's scalars in shared memory.
//
//===----------------------------------------------------------------------===//

#include "FinishedColumns.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::tenon;

/// Columns of a block of 8 that a thread has, next to each other.
static constexpr unsigned kLanes = 2;

FinishedColumns::FinishedColumns(TiledFrame &frame,
                                 ReductionEpilogueOp reduction, Value reduced)
    : frame(frame), b(frame.b), reduction(reduction),
      given{reduction.getReducedInput()} {
  if (reduced != given.front())
    given.push_back(reduced);
  findSources();
}

/// Finishes a column in a block that is then thrown away.
void FinishedColumns::findSources() {
  SmallVector<Value> columnOperands = reduction.getColumnOperands();
  Block scratch;
  auto addScalars = [&](unsigned count) {
    SmallVector<Value> scalars;
    for (unsigned i = 0; i != count; ++i)
      scalars.push_back(scratch.addArgument(b.getF32Type(), b.getLoc()));
    return scalars;
  };
  Value count = addScalars(1).front();
  SmallVector<Value> state = addScalars(reduction.getStateSize());
  SmallVector<Value> operands = addScalars(columnOperands.size());
  OpBuilder builder(b.getContext());
  builder.setInsertionPointToEnd(&scratch);
  for (Value scalar :
       reduction.emitFinish(builder, b.getLoc(), count, state, operands)) {
    const auto *operand = llvm::find(operands, scalar);
    sources.push_back(operand != operands.end()
                          ? columnOperands[operand - operands.begin()]
                          : Value());
  }
}

/// A column's scalars lie together.
Value FinishedColumns::getPlace(Value inTile) const {
  return b.offset(b.offset(frame.shared, frame.geometry.finishedOffset()),
                  b.mul(inTile, kFinishedBytesPerColumn));
}

SmallVector<Value> FinishedColumns::getKept(ArrayRef<Value> finished) const {
  SmallVector<Value> kept;
  for (auto [scalar, operand] : llvm::zip_equal(finished, sources))
    if (!operand)
      kept.push_back(scalar);
  assert(4 * kept.size() <= kFinishedBytesPerColumn && "checked before");
  return kept;
}

void FinishedColumns::store(Value inTile, ArrayRef<Value> kept) {
  Value place = getPlace(inTile);
  for (auto [index, scalar] : llvm::enumerate(kept))
    LLVM::StoreOp::create(b, scalar, b.offset(place, 4 * index),
                          /*alignment=*/4);
}

void FinishedColumns::loadOperands(ElementEmitter &emitter,
                                   unsigned lanes) const {
  for (Value operand : sources)
    for (unsigned lane = 0; operand && lane != lanes; ++lane)
      emitter.get(operand, /*row=*/0, lane);
}

void FinishedColumns::set(ElementEmitter &emitter, Value inTile,
                          unsigned lanes) const {
  constexpr unsigned each = kFinishedBytesPerColumn / 4;
  // At most 16 bytes at a time.
  unsigned together =
      std::min(lanes, 16 / static_cast<unsigned>(kFinishedBytesPerColumn));
  auto type = VectorType::get(together * each, b.getF32Type());
  for (unsigned first = 0; first != lanes; first += together) {
    Value loaded = LLVM::LoadOp::create(b, type, getPlace(b.add(inTile, first)),
                                        /*alignment=*/together * each * 4);
    for (unsigned i = 0; i != together; ++i) {
      SmallVector<Value> values;
      unsigned next = i * each;
      for (Value operand : sources)
        values.push_back(operand
                             ? emitter.get(operand, /*row=*/0, first + i)
                             : vector::ExtractOp::create(b, loaded, next++));
      emitter.setFinished(reduction, first + i, values);
    }
  }
}

void FinishedColumns::setFragment(ElementEmitter &emitter,
                                  int64_t inTile) const {
  Value own = frame.getLanePair();
  set(emitter, b.add(own, inTile), kLanes);
}
