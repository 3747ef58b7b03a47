//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Turns accumulators into rows, finishes them and stores them.
//
//===----------------------------------------------------------------------===//

#include "TileEpilogue.h"

#include "Codegen/CUDA/Emit/ElementEmitter.h"
#include "StagedRows.h"
#include "StoreLanes.h"
#include "TileMoments.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::tenon;

namespace {
/// A warp's rows of a tile, in a group of columns that it turns together.
class ColumnGroup {
public:
  ColumnGroup(TiledFrame &frame, TiledLinearOp op, const EpiloguePhase &phase,
              const WorkItem &item, const FinishedColumns *finished,
              unsigned group);

  void emit(ValueRange accumulators);

private:
  unsigned getFirstRow(unsigned step);
  unsigned stepsPerPass() {
    return TileGeometry::kPassRows / frame.geometry.rowsPerStep();
  }
  bool hasFewRegisters();
  void prefetch(unsigned pass);
  void turn(ArrayRef<ValueRange> products, unsigned pass);
  void finish(unsigned step);
  SmallVector<Value> getLanes(Value value, unsigned step);
  SmallVector<Value> getStoredLanes(Value value, unsigned step);

  TiledFrame &frame;
  KernelBuilder &b;
  TiledLinearOp op;
  const EpiloguePhase &phase;
  SmallVector<Value> given; ///< what accumulators are in the region
  SmallVector<Value> last;  ///< the last one of them, and what it stands for
  StagedRows staged;
  SmallVector<BlockArgument> operands; ///< but for accumulators
  unsigned numSteps;
  bool isTight = false;        ///< then operands are loaded one step ahead
  Value column, columnInRange; ///< the thread's first; null if always in range
  Value firstRow;              ///< the thread's
  SmallVector<Value> rows, clampedRows; ///< the thread's, by step
  std::unique_ptr<ElementEmitter> emitter;
  SmallVector<std::pair<Value, Value>> stored; ///< values, their outputs
  SmallVector<std::pair<MomentsOp, TileMoments>> moments;
};
} // namespace

ColumnGroup::ColumnGroup(TiledFrame &frame, TiledLinearOp op,
                         const EpiloguePhase &phase, const WorkItem &item,
                         const FinishedColumns *finished, unsigned group)
    : frame(frame), b(frame.b), op(op), phase(phase), staged(frame, group) {
  const TileGeometry &geometry = frame.geometry;
  if (finished) {
    given.push_back(finished->getGiven().front());
    llvm::append_range(last, finished->getGiven().drop_front());
  } else {
    llvm::append_range(given, op.getAccumulators());
  }
  last.push_back(given.back());
  for (BlockArgument operand : phase.operands)
    if (!llvm::is_contained(op.getAccumulators(), operand))
      operands.push_back(operand);
  // Rows beyond M of a matrix that is smaller than a warp's part are not even
  // computed.
  int64_t rowsOfWarp = geometry.warpM();
  if (!ShapedType::isDynamic(geometry.m))
    rowsOfWarp = std::min(rowsOfWarp, geometry.m);
  numSteps = llvm::divideCeil(rowsOfWarp, geometry.rowsPerStep());

  Value inGroup =
      b.mul(b.rem(frame.lane, geometry.threadsPerRow()), geometry.lanes);
  Value inPart = b.add(inGroup, group * geometry.passColumns());
  column = b.add(b.add(item.column, frame.warpColumn), inPart);
  if (geometry.hasRaggedColumns()) {
    columnInRange = b.less(column, geometry.n);
    column = b.min(column, b.i32(geometry.n - geometry.lanes));
  }
  // The last group may be narrower than the others.
  int64_t width = geometry.warpN() - group * geometry.passColumns();
  if (width < geometry.passColumns()) {
    Value inGroupRange = b.less(inGroup, width);
    columnInRange =
        columnInRange ? b.both(columnInRange, inGroupRange) : inGroupRange;
    column = b.min(column, b.i32(geometry.n - geometry.lanes));
  }
  column = b.toI64(column);
  firstRow = b.add(b.add(item.row, frame.warpRow),
                   b.div(frame.lane, geometry.threadsPerRow()));
  emitter = std::make_unique<ElementEmitter>(b, frame.operands, column,
                                             geometry.lanes);
  if (finished)
    finished->set(*emitter, b.add(frame.warpColumn, inPart), geometry.lanes);
  for (auto [value, output] :
       llvm::zip(op.getYield().getValues(), frame.outputs)) {
    if (auto given = value.getDefiningOp<MomentsOp>())
      moments.emplace_back(
          given, TileMoments(frame, given, output, item, group, numSteps));
    else if (!TiledLinearOp::isOfColumns(value) &&
             !TiledLinearOp::isOfRows(value))
      stored.emplace_back(value, output);
  }
}

/// The first row of a step, relative to the thread's first.
unsigned ColumnGroup::getFirstRow(unsigned step) {
  const TileGeometry &geometry = frame.geometry;
  unsigned row = step * geometry.rowsPerStep();
  return row / 16 * geometry.rowBlockStride() + row % 16;
}

/// The places of a pass's rows, and the loads from them.
void ColumnGroup::prefetch(unsigned pass) {
  const TileGeometry &geometry = frame.geometry;
  unsigned end = std::min(numSteps, (pass + 1) * stepsPerPass());
  for (unsigned step = pass * stepsPerPass(); step < end; ++step) {
    Value row = b.add(firstRow, getFirstRow(step));
    rows.push_back(row);
    if (geometry.hasRaggedRows())
      row = b.min(row, b.sub(frame.m, 1));
    clampedRows.push_back(b.toI64(row));
    emitter->addRow(clampedRows.back());
    if (!isTight)
      emitter->loadRow(step, operands);
  }
}

/// Whether kernels spilled what is loaded a pass ahead: with moments of columns
/// beside 128 accumulators and an operand [M, N].
bool ColumnGroup::hasFewRegisters() {
  constexpr int64_t mostElements = 64 * 32;
  const TileGeometry &geometry = frame.geometry;
  return !moments.empty() &&
         geometry.warpM() * geometry.warpN() > mostElements &&
         llvm::any_of(operands, [](BlockArgument operand) {
           return EpiloguePlan::variesByRow(operand.getType()) &&
                  EpiloguePlan::variesByColumn(operand.getType());
         });
}

/// Turns a pass of each product, one after the other: all but the last are read
/// before the next takes their place.
void ColumnGroup::turn(ArrayRef<ValueRange> products, unsigned pass) {
  for (auto [product, accumulators] : llvm::zip_equal(given, products)) {
    frame.syncWarp();
    staged.store(accumulators, pass);
    frame.syncWarp();
    if (product == given.back())
      return;
    unsigned end = std::min(numSteps, (pass + 1) * stepsPerPass());
    for (unsigned step = pass * stepsPerPass(); step < end; ++step)
      for (auto [lane, element] :
           llvm::enumerate(staged.load(step % stepsPerPass())))
        emitter->set(product, step, lane, element);
  }
}

void ColumnGroup::emit(ValueRange accumulators) {
  // Of a matrix of one row everything is the same in all rows, the accumulators
  // too, which are not there yet.
  if (frame.geometry.m != 1)
    emitter->emitRowInvariant(phase);
  isTight = hasFewRegisters();
  SmallVector<ValueRange> products;
  size_t count = accumulators.size() / given.size();
  for (size_t i = 0; i != given.size(); ++i)
    products.push_back(accumulators.slice(i * count, count));
  prefetch(0);
  if (isTight)
    emitter->loadRow(0, operands);
  for (unsigned step = 0; step != numSteps; ++step) {
    unsigned pass = step / stepsPerPass();
    if (step % stepsPerPass() == 0) {
      // The next pass's loads run while this one is turned and finished.
      prefetch(pass + 1);
      turn(products, pass);
    }
    if (isTight && step + 1 != numSteps)
      emitter->loadRow(step + 1, operands);
    finish(step);
  }
  for (auto &[given, ofTile] : moments)
    ofTile.finish();
}

SmallVector<Value> ColumnGroup::getLanes(Value value, unsigned step) {
  SmallVector<Value> lanes;
  for (unsigned lane = 0; lane != frame.geometry.lanes; ++lane)
    lanes.push_back(emitter->get(value, step, lane));
  return lanes;
}

/// The same as their matrix has them, if they are stored: moments are of that.
SmallVector<Value> ColumnGroup::getStoredLanes(Value value, unsigned step) {
  SmallVector<Value> lanes = getLanes(value, step);
  if (!llvm::is_contained(llvm::make_first_range(stored), value))
    return lanes;
  for (Value &lane : lanes)
    lane = castFloat(b, castFloat(b, lane, getElementTypeOrSelf(value)),
                     b.getF32Type());
  return lanes;
}

/// Computes the results at a row's elements, and stores them.
void ColumnGroup::finish(unsigned step) {
  const TileGeometry &geometry = frame.geometry;
  for (auto [lane, element] :
       llvm::enumerate(staged.load(step % stepsPerPass())))
    for (Value tensor : last)
      emitter->set(tensor, step, lane, element);
  Value rowInRange, inRange = columnInRange;
  if (geometry.hasRaggedRows()) {
    rowInRange = b.less(rows[step], frame.m);
    inRange = inRange ? b.both(inRange, rowInRange) : rowInRange;
  }
  Value place = b.add(b.mul(clampedRows[step], geometry.n), column);
  SmallVector<SmallVector<Value>> results;
  for (auto [value, output] : stored)
    results.push_back(getLanes(value, step));
  for (auto [target, lanes] : llvm::zip(stored, results))
    emitStoreLanes(b, target.second, place, getElementTypeOrSelf(target.first),
                   lanes, inRange);
  for (auto &[given, ofTile] : moments)
    ofTile.add(step, getStoredLanes(given.getInput(), step), rowInRange);
}

void tenon::emitPrefetch(TiledFrame &frame, TiledLinearOp op,
                         const WorkItem &item) {
  KernelBuilder &b = frame.b;
  const TileGeometry &geometry = frame.geometry;
  constexpr int64_t lineBytes = 128;
  for (BlockArgument operand : op.getInputArguments()) {
    auto type = cast<RankedTensorType>(operand.getType());
    if (!EpiloguePlan::variesByRow(type) || !EpiloguePlan::variesByColumn(type))
      continue;
    int64_t bytes = type.getElementTypeBitWidth() / 8;
    int64_t linesPerRow = llvm::divideCeil(geometry.tileN * bytes, lineBytes);
    int64_t lines = linesPerRow * geometry.tileM;
    for (int64_t first = 0; first < lines; first += geometry.threads()) {
      Value line = b.add(frame.thread, first);
      // Lines beyond the matrix are its last row or column again.
      Value row =
          b.min(b.add(item.row, b.div(line, linesPerRow)), b.sub(frame.m, 1));
      Value column = b.add(item.column,
                           b.mul(b.rem(line, linesPerRow), lineBytes / bytes));
      column = b.min(column, b.i32(geometry.n - 1));
      Value offset = b.add(b.mul(b.toI64(row), geometry.n), b.toI64(column));
      b.ptx("prefetch.global.L2 [$0];", "l",
            b.offset(frame.operands.at(operand), b.mul(offset, bytes)));
    }
  }
}

EpiloguePhase tenon::getEpiloguePhase(TiledLinearOp op) {
  Block &body = *op.getBody();
  SmallVector<Value> stored(op.getYield().getValues());
  llvm::erase_if(stored, TiledLinearOp::isOfRows);
  if (stored.size() != op.getYield().getValues().size())
    return EpiloguePlan::getPhase(body, stored);
  FailureOr<EpiloguePlan> plan = EpiloguePlan::get(body);
  return plan->getPhases().back();
}

void tenon::emitTileEpilogue(TiledFrame &frame, TiledLinearOp op,
                             const WorkItem &item, ValueRange accumulators,
                             const FinishedColumns *finished) {
  EpiloguePhase phase = getEpiloguePhase(op);
  // What has one value a row alone was stored where rows were reduced.
  if (llvm::all_of(op.getYield().getValues(), TiledLinearOp::isOfRows))
    return;
  unsigned groups =
      llvm::divideCeil(frame.geometry.warpN(), frame.geometry.passColumns());
  for (unsigned group = 0; group != groups; ++group) {
    // Else LLVM would keep the offsets of all rows from one group to the next.
    frame.computePlace();
    ColumnGroup(frame, op, phase, item, finished, group).emit(accumulators);
  }
}
