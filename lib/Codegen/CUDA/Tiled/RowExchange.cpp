//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits the exchange of what tiles have of a row.
//
//===----------------------------------------------------------------------===//

#include "RowExchange.h"

#include "Codegen/CUDA/Emit/ElementEmitter.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <limits>

using namespace mlir;
using namespace mlir::tenon;

/// Lanes that have a row, and parts that each of them waits for at a time, of
/// several rows where these have few.
static constexpr int64_t kLanes = 4, kBatch = 8;

void tenon::reduceLanes(TiledFrame &frame, ReduceRowOp op,
                        MutableArrayRef<ReduceRowOp::State> states) {
  for (int64_t mask : {1, 2})
    for (ReduceRowOp::State &state : states) {
      ReduceRowOp::State other;
      for (Value value : state)
        other.push_back(frame.shuffleXor(value, mask));
      state = op.emitCombine(frame.b, state, other);
    }
}

static RowParts getParts(TiledFrame &frame, TiledLinearOp op) {
  RowParts::Results results;
  for (const RowPhase &phase : frame.rowPhases)
    results[phase.result] = phase.reduction;
  return RowParts(*op.getBody(), results);
}

RowExchange::RowExchange(TiledFrame &frame, TiledLinearOp op)
    : memory(frame), end(frame, memory, /*hasFinisher=*/false), frame(frame),
      b(frame.b) {
  RowParts found = getParts(frame, op);
  for (const RowPhase &phase : frame.rowPhases)
    parts.push_back(*found.findAny(phase.reduction));
}

int64_t RowExchange::getNumBatches() {
  return llvm::divideCeil(frame.geometry.rowParts(), kLanes * kBatch);
}

int64_t RowExchange::getBatchParts() {
  return std::min<int64_t>(kBatch,
                           llvm::divideCeil(frame.geometry.rowParts(), kLanes));
}

void RowExchange::forget() {
  rowsInTile.clear();
  found.clear();
  kept.clear();
}

static Value toFloat(KernelBuilder &b, Value value) {
  return arith::UIToFPOp::create(b, b.getF32Type(), value);
}

/// Within the tile an infinite maximum is the largest number: what is
/// subtracted from it is then no NaN.
Value RowExchange::getLocal(unsigned phase, Value number) {
  ReduceRowOp reduction = frame.rowPhases[phase].reduction;
  if (reduction.getKind() != RowReduction::Max &&
      reduction.getKind() != RowReduction::Min)
    return number;
  constexpr float largest = std::numeric_limits<float>::max();
  number = arith::MinimumFOp::create(b, number, b.f32(largest));
  return arith::MaximumFOp::create(b, number, b.f32(-largest));
}

Value RowExchange::finishPart(unsigned phase, const WorkItem &item,
                              Value combined, int64_t rowNumber) {
  const TileGeometry &geometry = frame.geometry;
  ReduceRowOp reduction = frame.rowPhases[phase].reduction;
  if (reduction.getKind() == RowReduction::Mean && !parts[phase].shift) {
    Value columns = b.f32(geometry.tileN);
    if (geometry.hasRaggedColumns())
      columns = toFloat(b, b.min(b.sub(b.i32(geometry.n), item.column),
                                 b.i32(geometry.tileN)));
    combined = arith::DivFOp::create(b, combined, columns);
  }
  found.resize(std::max<size_t>(found.size(), rowNumber + 1));
  found[rowNumber].push_back(combined);
  return getLocal(phase, combined);
}

void RowExchange::publish(const WorkItem &item, Value turn,
                          ArrayRef<Value> inTile) {
  rowsInTile.assign(inTile.begin(), inTile.end());
  PanelMemory::Tags tags = memory.getTags(turn);
  Value writes =
      b.both(b.equal(b.bitAnd(frame.lane, 3), 0), b.equal(frame.warpColumn, 0));
  // Of a cluster, tiles may lie beyond N.
  if (frame.geometry.hasRaggedColumns())
    writes = b.both(writes, b.less(item.column, frame.geometry.n));
  frame.emitIf(writes, [&] {
    Value block = memory.getOwnBlock();
    for (auto [row, ofRow] : llvm::zip_equal(inTile, found)) {
      Numbers numbers(ofRow);
      numbers.resize(kMaxExchangedNumbers, b.f32(0));
      memory.store(memory.getState(turn, block, row),
                   {memory.tagNumber(numbers[0], tags.first),
                    memory.tagNumber(numbers[1], tags.second)});
    }
  });
}

/// Waits for the lane's parts of rows' batches by that number, i32.
SmallVector<RowExchange::Batch>
RowExchange::load(Value turn, ArrayRef<Value> inTile, Value number) {
  const TileGeometry &geometry = frame.geometry;
  int64_t numParts = geometry.rowParts();
  int64_t count = getBatchParts();
  Value first = b.add(b.bitAnd(frame.lane, 3), b.mul(number, kLanes * kBatch));
  int64_t rest = geometry.groupColumns() % geometry.tileN;
  Batch batch;
  SmallVector<Value> blocks, places;
  for (int64_t i = 0; i != count; ++i) {
    Value part = b.add(first, kLanes * i);
    Value isThere =
        numParts % (kLanes * count) == 0 ? Value() : b.less(part, numParts);
    batch.valid.push_back(isThere);
    batch.columns.push_back(b.f32(geometry.tileN));
    if (rest != 0)
      batch.columns.back() = b.select(b.equal(part, numParts - 1), b.f32(rest),
                                      batch.columns.back());
    part = isThere ? b.min(part, b.i32(numParts - 1)) : part;
    blocks.push_back(memory.getBlock(part));
  }
  for (Value row : inTile)
    for (Value block : blocks)
      places.push_back(memory.getState(turn, block, row));
  SmallVector<Value> words = memory.poll(memory.getTags(turn), places.size(),
                                         [&](int64_t i) { return places[i]; });
  SmallVector<Batch> batches(inTile.size(), batch);
  for (size_t i = 0; i != places.size(); ++i) {
    Numbers &numbers = batches[i / count].parts.emplace_back();
    for (int64_t k = 0; k != kMaxExchangedNumbers; ++k)
      numbers.push_back(arith::BitcastOp::create(
          b, b.getF32Type(),
          memory.getLowHalf(words[i * PanelMemory::kWords + k])));
  }
  return batches;
}

/// Combines what `getTerm` makes of each part. Where all are there at once they
/// stay in registers for the next reduction.
Value RowExchange::reduce(unsigned phase, Value turn, int64_t rowNumber,
                          Step getTerm) {
  ReduceRowOp reduction = frame.rowPhases[phase].reduction;
  Value neutral = reduction.emitNeutral(b, b.getF32Type()).front();
  auto add = [&](const Batch &batch, Value state) {
    for (auto [part, valid, columns] :
         llvm::zip_equal(batch.parts, batch.valid, batch.columns)) {
      Value term = getTerm(part, columns);
      if (valid)
        term = b.select(valid, term, neutral);
      state = reduction.emitCombine(b, state, term).front();
    }
    return state;
  };
  auto meet = [&](Value state) {
    ReduceRowOp::State states[] = {{state}};
    reduceLanes(frame, reduction, states);
    return states[0].front();
  };
  if (getNumBatches() == 1) {
    ArrayRef<Value> left = ArrayRef(rowsInTile).drop_front(kept.size());
    size_t together = std::max<int64_t>(1, kBatch / getBatchParts());
    if (static_cast<size_t>(rowNumber) == kept.size())
      llvm::append_range(kept, load(turn, left.take_front(together), b.i32(0)));
    return meet(add(kept[rowNumber], neutral));
  }
  auto loop = scf::ForOp::create(b, b.i32(0), b.i32(getNumBatches()), b.i32(1),
                                 neutral);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Batch batch =
        load(turn, rowsInTile[rowNumber], loop.getInductionVar()).front();
    scf::YieldOp::create(b, add(batch, loop.getRegionIterArgs()[0]));
  }
  return meet(loop.getResult(0));
}

/// What a phase subtracts, where reductions that it depends on gave `results`.
Value RowExchange::getShift(unsigned phase, Value row, const Numbers &results) {
  ElementEmitter emitter(b, frame.operands, /*column=*/b.i64(0), /*lanes=*/1);
  emitter.beginRows(row, /*operands=*/{});
  for (auto [of, result] : llvm::zip(frame.rowPhases, results))
    emitter.set(of.result, /*row=*/0, /*lane=*/0, result);
  return emitter.get(parts[phase].shift, /*row=*/0, /*lane=*/0);
}

/// What a part's number is to the whole row's.
Value RowExchange::getTerm(unsigned phase, Value row, const Numbers &part,
                           Value columns, Value shift) {
  ReduceRowOp reduction = frame.rowPhases[phase].reduction;
  if (!shift)
    return reduction.getKind() == RowReduction::Mean
               ? Value(arith::MulFOp::create(b, part[phase], columns))
               : part[phase];
  Numbers locals;
  for (unsigned of = 0; of != phase; ++of)
    locals.push_back(getLocal(of, part[of]));
  Value distance =
      arith::SubFOp::create(b, getShift(phase, row, locals), shift);
  if (parts[phase].isSquare) {
    Value square = arith::MulFOp::create(b, distance, distance);
    return arith::AddFOp::create(b, part[phase],
                                 arith::MulFOp::create(b, square, columns));
  }
  Value factor = math::ExpOp::create(b, distance);
  return arith::MulFOp::create(b, part[phase], factor);
}

SmallVector<Value> RowExchange::combine(Value turn, int64_t rowNumber,
                                        Value row) {
  Numbers results;
  for (unsigned phase = 0; phase != frame.rowPhases.size(); ++phase) {
    Value shift;
    if (parts[phase].shift)
      shift = getShift(phase, row, results);
    auto getOwnTerm = [&](const Numbers &part, Value columns) {
      return getTerm(phase, row, part, columns, shift);
    };
    Value whole = frame.geometry.exchangesRows()
                      ? reduce(phase, turn, rowNumber, getOwnTerm)
                      : getOwnTerm(found[rowNumber],
                                   b.f32(frame.geometry.groupColumns()));
    ReduceRowOp reduction = frame.rowPhases[phase].reduction;
    results.push_back(reduction.emitFinish(b, whole));
  }
  return llvm::to_vector_of<Value>(results);
}
