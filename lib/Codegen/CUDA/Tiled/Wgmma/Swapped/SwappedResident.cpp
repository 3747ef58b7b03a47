//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits a reduction along M in the order that swapped operands give.
//
//===----------------------------------------------------------------------===//

#include "SwappedResident.h"

#include "Codegen/CUDA/Emit/PackedElements.h"
#include "Codegen/CUDA/Tiled/Wgmma/Subtiles/Mbarrier.h"
#include "SwappedStates.h"

using namespace mlir;
using namespace mlir::tenon;

/// A thread's columns of every 64 and its rows of every 8; lanes that have the
/// same columns.
static constexpr int64_t kColumns = 2, kRows = 2, kLanes = 4;

/// Stages that an exchange is taken to need, beside which nothing waits for it.
/// That is an estimate, of 64 row tiles whose states arrive three by three.
static constexpr int64_t kExchangeStages = 16;

/// The one type, of 16 bits, of all results with rows; null if there is none.
static Type findNarrowType(ArrayRef<SubtileTensor> results) {
  Type type = results.front().elementType;
  bool isNarrow = type.getIntOrFloatBitWidth() == 16 &&
                  llvm::all_of(results, [&](const SubtileTensor &result) {
                    return result.elementType == type;
                  });
  return isNarrow ? type : Type();
}

Type SwappedResident::findHeldType() {
  const TileGeometry &geometry = frame.geometry;
  SubtileCopies *copies = swapped.tile.getCopies();
  if (!geometry.schedule.getDefer() || !copies)
    return Type();
  // A block whose tile has no rows is behind by a ring of stages at most.
  int64_t stages =
      std::max(copies->subtiles.getCount() + kExchangeStages, geometry.stages);
  return geometry.kTiles() > stages ? findNarrowType(copies->subtiles.results)
                                    : Type();
}

/// Whether the layer returns what is reduced, or what comes of that alone.
static bool returnsReduced(TiledLinearOp op) {
  return llvm::any_of(op.getYield().getValues(), [&](Value value) {
    return EpiloguePlan::getPhase(*op.getBody(), value).finished.empty();
  });
}

SwappedResident::SwappedResident(TiledFrame &frame, TiledLinearOp op,
                                 SwappedEpilogue &swapped)
    : ResidentReduction(frame, op), swapped(swapped),
      isReturned(returnsReduced(op)), heldType(findHeldType()) {
  swapped.tile.columns.finished = &finished;
}

/// Where WarpgroupProduct has an element: of the thread's `column`-th column,
/// in the thread's `row`-th row.
static size_t getElement(const TileGeometry &geometry, int64_t column,
                         int64_t row) {
  int64_t block = column / kColumns * geometry.tileM / 8 + row / kRows;
  return (block * kColumns + column % kColumns) * kRows + row % kRows;
}

static int64_t getNumColumns(const TileGeometry &geometry) {
  return geometry.wgmmaBlocks() * kColumns;
}

static int64_t getNumRows(const TileGeometry &geometry) {
  return geometry.tileM / 8 * kRows;
}

/// What is reduced, in the places of the accumulators: these themselves, if the
/// reduction is of them. It depends on no operand with rows.
SmallVector<Value> SwappedResident::computeReduced(const WorkItem &item,
                                                   ValueRange accumulators) {
  SmallVector<Value> elements(accumulators);
  if (reduced == op.getAccumulator())
    return elements;
  const TileGeometry &geometry = frame.geometry;
  for (int64_t column = 0; column != getNumColumns(geometry); ++column) {
    Value place = b.add(item.column, swapped.tile.columns.getInTile(column));
    if (geometry.hasRaggedColumns())
      place = b.min(place, b.i32(geometry.n - 1));
    ElementEmitter emitter(b, frame.operands, b.toI64(place), /*lanes=*/1);
    for (int64_t row = 0; row != getNumRows(geometry); ++row) {
      Value &element = elements[getElement(geometry, column, row)];
      emitter.set(op.getAccumulator(), row, /*lane=*/0, element);
      element = emitter.get(reduced, row, /*lane=*/0);
    }
  }
  return elements;
}

/// The states of the thread's columns. Elements become distances from their
/// origins.
SmallVector<ReductionState>
SwappedResident::reduceColumns(const WorkItem &item,
                               SmallVector<Value> &elements) {
  const TileGeometry &geometry = frame.geometry;
  SmallVector<ReductionState> states;
  SwappedStates columns(frame, reduction, item);
  for (int64_t column = 0; column != getNumColumns(geometry); ++column) {
    SmallVector<Value> ofColumn;
    for (int64_t row = 0; row != getNumRows(geometry); ++row)
      ofColumn.push_back(elements[getElement(geometry, column, row)]);
    states.push_back(columns.reduce(ofColumn));
    for (auto [row, distance] : llvm::enumerate(ofColumn))
      elements[getElement(geometry, column, row)] = distance;
  }
  return states;
}

/// Each of the lanes that have a column's state takes some of their columns.
void SwappedResident::emitForOwn(ArrayRef<ReductionState> states, Body body) {
  Value lane = b.bitAnd(frame.lane, kLanes - 1);
  for (size_t first = 0; first < states.size(); first += kLanes) {
    size_t count = std::min<size_t>(states.size() - first, kLanes);
    ReductionState own = states[first];
    Value column = swapped.tile.columns.getInTile(first);
    for (size_t i = 1; i != count; ++i) {
      Value isOwn = b.equal(lane, i);
      column =
          b.select(isOwn, swapped.tile.columns.getInTile(first + i), column);
      own.origin = b.select(isOwn, states[first + i].origin, own.origin);
      for (auto [scalar, other] :
           llvm::zip_equal(own.scalars, states[first + i].scalars))
        scalar = b.select(isOwn, other, scalar);
    }
    if (count == kLanes)
      body(column, own);
    else
      frame.emitIf(b.less(lane, count), [&] { body(column, own); });
  }
}

void SwappedResident::storeStates(Value turn, ArrayRef<ReductionState> states) {
  emitForOwn(states, [&](Value column, const ReductionState &state) {
    exchange.store(turn, column, state);
  });
}

/// Reduces a tile, and tells the other blocks of it.
SwappedResident::ReducedTile
SwappedResident::reduceTile(const WorkItem &item, Value turn,
                            ValueRange accumulators) {
  frame.computePlace();
  ReducedTile tile;
  tile.elements = computeReduced(item, accumulators);
  tile.distances = tile.elements;
  tile.states = reduceColumns(item, tile.distances);
  storeStates(turn, tile.states);
  return tile;
}

void SwappedResident::emit(const WorkItem &item, Value turn, Value turns,
                           ValueRange accumulators) {
  ReducedTile tile = reduceTile(item, turn, accumulators);
  emitIfRows(item, [&] {
    emitForOwn(tile.states, [&](Value column, const ReductionState &) {
      finishColumn(item, turn, column);
    });
  });
  frame.emitIf(b.equal(b.add(turn, 1), turns), [&] { exchange.end.arrive(); });
  frame.syncWarp(); // its lanes have finished the columns
  swapped.emit(item, tile.elements);
}

//===----------------------------------------------------------------------===//
// Tiles in two parts
//===----------------------------------------------------------------------===//

SmallVector<Type> SwappedResident::getHeldTypes() {
  int64_t elements = getNumColumns(frame.geometry) * getNumRows(frame.geometry);
  SmallVector<Type> types(elements / kRows, VectorType::get(kRows, heldType));
  int64_t numbers = isReturned ? 0 : heldType.isF16() ? 2 : 1; // of a column
  types.append(numbers * getNumColumns(frame.geometry), b.getF32Type());
  return types;
}

int64_t SwappedResident::getNumSteps() {
  return swapped.tile.getCopies()->subtiles.getCount();
}

/// The exponent of an f32 that holds a power of two: as much as the root mean
/// square of a column's distances, or half of it, of which no distance in a
/// tile of 256 rows is more than 32 times. Where the square underflows or
/// overflows, a power by which no distance does. Rows that a tile lacks make it
/// less.
static Value getDistanceExponent(KernelBuilder &b, const ReductionState &state,
                                 int64_t rows) {
  Value mean = state.scalars[0], m2 = state.scalars[1];
  Value variance = arith::MulFOp::create(b, m2, b.f32(1.0 / rows));
  Value square = math::FmaOp::create(b, mean, mean, variance);
  Value bits = LLVM::BitcastOp::create(b, b.getI32Type(), square);
  Value exponent = b.bitAnd(b.shiftRight(bits, 23), 255);
  Value half = b.shiftRight(b.add(exponent, 127), 1);
  half = b.select(b.equal(exponent, 0), b.i32(127 - 72), half);
  return b.select(b.equal(exponent, 255), b.i32(127 + 120), half);
}

static Value getPowerOfTwo(KernelBuilder &b, Value exponent) {
  return LLVM::BitcastOp::create(b, b.getF32Type(), b.shiftLeft(exponent, 23));
}

/// Divides distances by what it returns, a power of two for each column.
SmallVector<Value>
SwappedResident::scaleDistances(SmallVector<Value> &distances,
                                ArrayRef<ReductionState> states) {
  SmallVector<Value> units, scales;
  for (const ReductionState &state : states) {
    Value exponent = getDistanceExponent(b, state, frame.geometry.tileM);
    units.push_back(getPowerOfTwo(b, exponent));
    scales.push_back(getPowerOfTwo(b, b.sub(b.i32(254), exponent)));
  }
  for (auto [index, distance] : llvm::enumerate(distances))
    distance = arith::MulFOp::create(
        b, distance, scales[swapped.tile.columns.getNumber(index)]);
  return units;
}

SmallVector<Value> SwappedResident::hold(const WorkItem &item, Value turn,
                                         ValueRange accumulators) {
  auto [elements, distances, states] = reduceTile(item, turn, accumulators);
  exchange.end.arrive();
  SmallVector<Value> held, ofColumns;
  if (!isReturned) {
    if (heldType.isF16())
      ofColumns = scaleDistances(distances, states);
    elements = std::move(distances);
    auto origins = llvm::map_range(
        states, [](const ReductionState &state) { return state.origin; });
    ofColumns.insert(ofColumns.begin(), origins.begin(), origins.end());
  }
  for (size_t i = 0; i != elements.size(); i += kRows)
    held.push_back(roundPair(b, elements[i], elements[i + 1], heldType));
  held.append(ofColumns);
  return held;
}

/// The elements of one of the tile's blocks.
SmallVector<Value> SwappedResident::getHeldBlock(ValueRange held,
                                                 int64_t block) {
  constexpr int64_t count = kRows * kColumns;
  int64_t numColumns = getNumColumns(frame.geometry);
  ValueRange ofColumns =
      held.drop_front(getNumRows(frame.geometry) * numColumns / kRows);
  SmallVector<Value> elements;
  for (int64_t i = block * count; i != (block + 1) * count; i += kRows) {
    SmallVector<Value> values =
        llvm::to_vector(extendElements(b, b.readAnew(held[i / kRows])));
    if (isReturned) {
      llvm::append_range(elements, values);
      continue;
    }
    size_t column = swapped.tile.columns.getNumber(i);
    Value origin = ofColumns[column];
    for (Value distance : values)
      elements.push_back(
          heldType.isF16()
              ? math::FmaOp::create(b, distance, ofColumns[numColumns + column],
                                    origin)
                    .getResult()
              : arith::AddFOp::create(b, distance, origin).getResult());
  }
  return elements;
}

void SwappedResident::emitStep(const WorkItem &item, Value turn,
                               DeferredStep step, ValueRange /*loaded*/,
                               ValueRange held) {
  int64_t number = step.number;
  if (number == 0)
    emitBarrierWait(b, getFinishedBarrier(), b.bitAnd(turn, 1));
  int64_t first = number * swapped.tile.plan.getSubtileBlocks();
  swapped.emitSubtile(item, number, [&](unsigned block) {
    return getHeldBlock(held, first + block);
  });
}
