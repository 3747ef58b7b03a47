//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits what comes before a reduction, on fragments.
//
//===----------------------------------------------------------------------===//

#include "ReducedInput.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::tenon;

/// A thread's elements of a block of 16 rows by 8 columns: two rows of two.
static constexpr int64_t kRows = 2, kLanes = 2, kElements = kRows * kLanes;
/// Bytes of registers for operands with rows that are loaded ahead; of rows
/// that are resident, whose tiles nothing but a load waits for.
static constexpr int64_t kBytesAhead = 64, kBytesAheadOfRows = 128;

namespace {
/// Computes blocks of 8 columns, each for some blocks of rows at once.
class ReducedInput {
public:
  using Take = llvm::function_ref<void(int64_t, ArrayRef<Value>)>;

  ReducedInput(TiledFrame &frame, TiledLinearOp op, const EpiloguePhase &phase,
               Value value, const WorkItem &item,
               llvm::function_ref<void(ElementEmitter &, int64_t)> setKnown,
               std::optional<ColumnBlocks> columns);

  void compute(ValueRange accumulators, Take take);

private:
  /// Of one column each, or of both.
  using Emitters = SmallVector<std::unique_ptr<ElementEmitter>, kLanes>;

  int64_t getColumnBlock(int64_t number) {
    return columns.first + number % columns.count;
  }
  /// The first block of rows that are computed as number `number`.
  int64_t getRowBlock(int64_t number) {
    return number / columns.count * rowBlocks;
  }
  SmallVector<Value> getRows(int64_t number);
  Emitters load(int64_t number);
  int64_t getBlocksAhead();
  void compute(int64_t number, const Emitters &emitters,
               ValueRange accumulators, Take take);

  TiledFrame &frame;
  KernelBuilder &b;
  TiledLinearOp op;
  const EpiloguePhase &phase;
  Value value;
  const WorkItem &item;
  llvm::function_ref<void(ElementEmitter &, int64_t)> setKnown;
  int64_t columnBlocks;
  ColumnBlocks columns; ///< those to compute
  int64_t rowBlocks;    ///< that are computed at once
  /// Neighbouring columns that are loaded at once.
  unsigned width;
};
} // namespace

/// A warp that shares no instruction has all its rows at once, so that operands
/// of one value a column are loaded once. For others they are staged, and the
/// operands of fewer rows take fewer registers.
ReducedInput::ReducedInput(
    TiledFrame &frame, TiledLinearOp op, const EpiloguePhase &phase,
    Value value, const WorkItem &item,
    llvm::function_ref<void(ElementEmitter &, int64_t)> setKnown,
    std::optional<ColumnBlocks> columns)
    : frame(frame), b(frame.b), op(op), phase(phase), value(value), item(item),
      setKnown(setKnown), columnBlocks(frame.geometry.warpN() / 8),
      columns(columns.value_or(ColumnBlocks{0, columnBlocks})),
      rowBlocks(frame.geometry.sharesInstructions()
                    ? 1
                    : frame.geometry.warpM() / 16),
      width(std::min<unsigned>(frame.geometry.lanes, kLanes)) {}

/// The thread's rows of the blocks that are computed as number `number`.
SmallVector<Value> ReducedInput::getRows(int64_t number) {
  int64_t stride = frame.geometry.rowBlockStride();
  Value first =
      b.add(b.add(item.row, frame.warpRow),
            b.add(b.shiftRight(frame.lane, 2), getRowBlock(number) * stride));
  SmallVector<Value> rows;
  int64_t m = frame.geometry.m;
  Value last = ShapedType::isDynamic(m) ? b.sub(frame.m, 1) : b.i32(m - 1);
  for (int64_t i = 0; i != rowBlocks * kRows; ++i) {
    Value row = b.add(first, i / kRows * stride + i % kRows * 8);
    rows.push_back(b.toI64(b.min(row, last)));
  }
  return rows;
}

ReducedInput::Emitters ReducedInput::load(int64_t number) {
  const TileGeometry &geometry = frame.geometry;
  int64_t block = getColumnBlock(number);
  Value first =
      b.add(b.add(item.column, frame.warpColumn), frame.getLanePair());
  first = b.add(first, 8 * block);
  SmallVector<BlockArgument> loaded(phase.operands);
  llvm::erase(loaded, op.getAccumulator());
  llvm::erase_if(loaded, [&](BlockArgument operand) {
    return frame.rowValues.contains(operand);
  });
  int64_t firstRow = getRowBlock(number) * kRows;
  Emitters emitters;
  for (unsigned lane = 0; lane != kLanes; lane += width) {
    Value column = b.add(first, lane);
    if (geometry.hasRaggedColumns())
      column = b.min(column, b.i32(geometry.n - width));
    auto emitter = std::make_unique<ElementEmitter>(b, frame.operands,
                                                    b.toI64(column), width);
    setKnown(*emitter, block);
    emitter->emitRowInvariant(phase);
    emitter->beginRows(getRows(number), loaded);
    for (auto &[operand, values] : frame.rowValues)
      for (int64_t row = 0; row != rowBlocks * kRows; ++row)
        emitter->set(operand, row, /*lane=*/0, values[firstRow + row]);
    emitters.push_back(std::move(emitter));
  }
  return emitters;
}

/// Blocks whose operands are loaded before one is computed.
int64_t ReducedInput::getBlocksAhead() {
  int64_t bytes = 0;
  for (BlockArgument operand : phase.operands)
    if (operand != op.getAccumulator() &&
        EpiloguePlan::variesByRow(operand.getType()))
      bytes += kElements * rowBlocks *
               getElementTypeOrSelf(operand.getType()).getIntOrFloatBitWidth() /
               8;
  int64_t least = frame.geometry.sharesInstructions() ? 2 : 1;
  // Kernels of split products spilled by so many.
  bool hasRoom =
      frame.geometry.hasResidentRows() && !frame.geometry.schedule.isSplit();
  int64_t ahead = hasRoom ? kBytesAheadOfRows : kBytesAhead;
  return bytes == 0 ? 1 : std::max(least, ahead / bytes);
}

void ReducedInput::compute(int64_t number, const Emitters &emitters,
                           ValueRange accumulators, Take take) {
  int64_t first = getRowBlock(number);
  for (int64_t rowBlock = 0; rowBlock != rowBlocks; ++rowBlock) {
    int64_t block = (first + rowBlock) * columnBlocks + getColumnBlock(number);
    ValueRange own = accumulators.slice(block * kElements, kElements);
    auto get = [&](int64_t i) -> ElementEmitter & {
      return *emitters[i % kLanes / width];
    };
    auto row = [&](int64_t i) { return rowBlock * kRows + i / kLanes; };
    for (int64_t i = 0; i != kElements; ++i)
      get(i).set(op.getAccumulator(), row(i), i % kLanes % width, own[i]);
    SmallVector<Value, kElements> elements;
    for (int64_t i = 0; i != kElements; ++i)
      elements.push_back(get(i).get(value, row(i), i % kLanes % width));
    take(block, elements);
  }
}

void ReducedInput::compute(ValueRange accumulators, Take take) {
  int64_t count = frame.geometry.warpM() / 16 / rowBlocks * columns.count;
  int64_t ahead = getBlocksAhead();
  SmallVector<Emitters> loaded;
  for (int64_t number = 0; number != count; ++number) {
    while (static_cast<int64_t>(loaded.size()) <
           std::min(number + ahead, count))
      loaded.push_back(load(loaded.size()));
    compute(number, loaded[number], accumulators, take);
    loaded[number].clear();
  }
}

void tenon::emitOnFragments(
    TiledFrame &frame, TiledLinearOp op, const EpiloguePhase &phase,
    Value value, const WorkItem &item, ValueRange accumulators,
    llvm::function_ref<void(ElementEmitter &, int64_t)> setKnown,
    llvm::function_ref<void(int64_t, ArrayRef<Value>)> take,
    std::optional<ColumnBlocks> columns) {
  ReducedInput(frame, op, phase, value, item, setKnown, columns)
      .compute(accumulators, take);
}

SmallVector<Value> tenon::emitReducedInput(
    TiledFrame &frame, TiledLinearOp op, const EpiloguePhase &phase,
    Value value, const WorkItem &item, ValueRange accumulators,
    llvm::function_ref<void(ElementEmitter &, int64_t)> setKnown) {
  SmallVector<Value> elements(accumulators);
  emitOnFragments(frame, op, phase, value, item, accumulators, setKnown,
                  [&](int64_t block, ArrayRef<Value> computed) {
                    llvm::copy(computed, elements.begin() + block * kElements);
                  });
  return elements;
}

void tenon::computeSource(TiledFrame &frame, TiledLinearOp op,
                          const RowPhase &phase, const WorkItem &item,
                          bool readsAnew, MutableArrayRef<Value> elements,
                          std::optional<ColumnBlocks> columns) {
  if (!phase.source)
    return;
  SmallVector<Value> given(elements);
  emitOnFragments(
      frame, op, phase.sourcePhase, phase.source, item, given,
      [](ElementEmitter &, int64_t) {},
      [&](int64_t block, ArrayRef<Value> computed) {
        for (auto [i, element] : llvm::enumerate(computed))
          elements[block * kElements + i] =
              readsAnew ? frame.b.readAnew(element) : element;
      },
      columns);
}
