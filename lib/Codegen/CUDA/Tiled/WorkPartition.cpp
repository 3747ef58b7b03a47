//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Divides the tiles among the blocks of a launch.
//
//===----------------------------------------------------------------------===//

#include "WorkPartition.h"

#include "TiledFamily.h"

using namespace mlir;
using namespace mlir::tenon;

static bool isDynamicResident(const TileGeometry &geometry) {
  return geometry.isResident() && ShapedType::isDynamic(geometry.m);
}

WorkPartition::WorkPartition(TiledFrame &frame) : frame(frame), b(frame.b) {
  const TileGeometry &geometry = frame.geometry;
  Value rows = frame.getRowUnits();
  int64_t teamUnits = geometry.teamUnits();
  Value tiles = b.mul(rows, geometry.columnUnits() / teamUnits);
  SmallVector<std::pair<KeptScalar *, Value>> kept;
  if (geometry.family->traits.keepsTurns)
    kept.push_back({&rowUnits, rows});
  Value turns;
  if (geometry.schedule.getStreamK()) {
    Value numStreamed = chooseStreamed(tiles);
    Value others = b.sub(tiles, numStreamed);
    turns = b.select(b.less(frame.unit, others), countTurns(others), b.i32(0));
    turns = b.add(turns, divideStream(numStreamed, kept));
  } else if (geometry.waits()) { // blocks that are cut off have none
    turns =
        b.select(b.less(frame.unit, getUnits()), countTurns(tiles), b.i32(0));
  }
  if (turns)
    kept.push_back({&count, turns});
  SmallVector<std::pair<KeptScalar, Value>> values;
  for (auto [place, value] : kept) {
    *place = frame.keep();
    values.emplace_back(*place, value);
  }
  frame.store(values);
}

Value WorkPartition::getRowUnits() {
  if (frame.geometry.family->traits.keepsTurns)
    return rowUnits.load();
  if (!ShapedType::isDynamic(frame.geometry.m))
    return b.i32(frame.geometry.rowUnits());
  // Else LLVM would keep them from turn to turn.
  return b.ceilDiv(b.readAnew(frame.m), frame.geometry.unitM());
}

/// How many take tiles.
Value WorkPartition::getUnits() {
  const TileGeometry &geometry = frame.geometry;
  if (geometry.hasResidentRows())
    return b.mul(getTeams(), geometry.teamUnits());
  if (!geometry.isResident())
    return frame.units;
  Value rows = frame.getRowUnits();
  return b.mul(b.div(frame.units, rows), rows);
}

/// How many take tiles that are counted as one where several units have them
/// together.
Value WorkPartition::getTeams() {
  const TileGeometry &geometry = frame.geometry;
  return geometry.hasResidentRows() ? b.div(frame.units, geometry.teamUnits())
                                    : getUnits();
}

Value WorkPartition::getTeam() {
  int64_t teamUnits = frame.geometry.teamUnits();
  return teamUnits == 1 ? frame.unit : b.div(frame.unit, teamUnits);
}

/// Without stream-K: the number of a turn's tile.
Value WorkPartition::getTile(Value turn) {
  return b.add(getTeam(), b.mul(turn, getTeams()));
}

/// Of `tiles` that are not divided.
Value WorkPartition::countTurns(Value tiles) {
  Value teams = getTeams();
  return b.div(b.sub(b.add(b.sub(tiles, getTeam()), teams), 1), teams);
}

Value WorkPartition::hasTurn(Value turn) {
  const TileGeometry &geometry = frame.geometry;
  if (geometry.schedule.getStreamK() || geometry.waits())
    return b.less(turn, count.load());
  return b.less(getTile(turn), b.mul(getRowUnits(), geometry.columnUnits()));
}

SmallVector<Value> WorkPartition::forEachTurn(
    Value first, int64_t step, ValueRange initial,
    llvm::function_ref<SmallVector<Value>(Value turn, ValueRange)> body) {
  SmallVector<Value> state{first};
  llvm::append_range(state, initial);
  SmallVector<Type> types(ValueRange(state).getTypes());
  SmallVector<Location> locations(types.size(), b.getLoc());
  auto loop = scf::WhileOp::create(b, types, state);
  OpBuilder::InsertionGuard guard(b);
  ValueRange before =
      b.createBlock(&loop.getBefore(), {}, types, locations)->getArguments();
  scf::ConditionOp::create(b, hasTurn(before[0]), before);
  ValueRange after =
      b.createBlock(&loop.getAfter(), {}, types, locations)->getArguments();
  SmallVector<Value> next = body(after[0], after.drop_front());
  next.insert(next.begin(), b.add(after[0], step));
  scf::YieldOp::create(b, next);
  return SmallVector<Value>(loop.getResults().drop_front());
}

/// How many tiles are streamed: the last, incomplete wave and one before it, if
/// more than 1 in 25 places for tiles would stay empty; less is not worth a
/// partial tile written and read.
Value WorkPartition::chooseStreamed(Value tiles) {
  Value waves = b.div(tiles, frame.units), rest = b.rem(tiles, frame.units);
  Value empty = b.sub(frame.units, rest);
  Value places = b.mul(b.add(waves, 1), frame.units);
  Value isWorth = b.both(b.less(places, b.mul(empty, kStreamKEmptyShare)),
                         b.less(b.i32(0), rest));
  return b.select(isWorth, b.min(tiles, b.add(rest, frame.units)), b.i32(0));
}

/// How many blocks share the stream: all of them, or, where that leaves out no
/// more than 1 in 16, a multiple of the tiles, so that no range reaches into
/// two.
Value WorkPartition::chooseBlocks(Value numStreamed) {
  Value isNone = b.equal(numStreamed, 0);
  Value rest = b.rem(frame.units, b.select(isNone, b.i32(1), numStreamed));
  Value isEven = b.both(b.less(b.mul(rest, 16), frame.units),
                        b.less(numStreamed, frame.units));
  return b.select(isEven, b.sub(frame.units, rest), frame.units);
}

/// Gives the number of tiles of which the block has a part.
Value WorkPartition::divideStream(
    Value numStreamed, SmallVectorImpl<std::pair<KeptScalar *, Value>> &kept) {
  int64_t kTiles = frame.geometry.kTiles();
  Value length = b.mul(numStreamed, kTiles);
  Value blocks = chooseBlocks(numStreamed);
  Value base = b.div(length, blocks), extra = b.rem(length, blocks);
  // Blocks beyond `blocks` have the empty range at the end.
  Value first = b.add(b.mul(frame.unit, base), b.min(frame.unit, extra));
  Value last = b.add(b.add(first, base), b.toI32(b.less(frame.unit, extra)));
  first = b.min(first, length);
  last = b.min(last, length);
  Value parts =
      b.add(b.sub(b.div(b.sub(last, 1), kTiles), b.div(first, kTiles)), 1);
  parts = b.select(b.less(first, last), parts, b.i32(0));
  kept.append({{&streamed, numStreamed},
               {&rangeBase, base},
               {&rangeExtra, extra},
               {&begin, first},
               {&end, last},
               {&pieces, parts}});
  return parts;
}

Value WorkPartition::getRangeLength(Value block) {
  return b.add(rangeBase.load(), b.toI32(b.less(block, rangeExtra.load())));
}

WorkItem WorkPartition::getItem(Value turn) {
  if (frame.geometry.schedule.getStreamK())
    return getPiece(turn);
  WorkItem item;
  item.kBegin = b.i32(0);
  item.kCount = b.i32(frame.geometry.kTiles());
  setOrigin(getTile(turn), item);
  return item;
}

WorkItem WorkPartition::getPiece(Value turn) {
  int64_t kTiles = frame.geometry.kTiles();
  WorkItem item;
  Value first = begin.load(), last = end.load(), parts = pieces.load();
  // From the range's end to its beginning.
  Value piece = b.sub(b.div(b.sub(last, 1), kTiles), turn);
  Value front = b.mul(piece, kTiles);
  Value pieceBegin = b.sub(b.maxSigned(first, front), front);
  Value pieceEnd = b.minSigned(b.sub(last, front), b.i32(kTiles));
  // After it, whole tiles.
  Value whole = b.add(b.add(streamed.load(), frame.unit),
                      b.mul(b.sub(turn, parts), frame.units));
  Value isStreamed = b.less(turn, parts);
  item.kBegin = b.select(isStreamed, pieceBegin, b.i32(0));
  item.kCount =
      b.select(isStreamed, b.sub(pieceEnd, pieceBegin), b.i32(kTiles));
  setOrigin(b.select(isStreamed, piece, whole), item);
  return item;
}

/// Quotient and remainder of a tile's number in its group, which begins at
/// `firstRow`, by the group's rows: `raster`, or what is left of M. Where M is
/// known divisions of wgmma kernels are by constants: others are calls.
std::pair<Value, Value>
WorkPartition::divideGroup(Value inGroup, Value firstRow, int64_t raster) {
  const TileGeometry &geometry = frame.geometry;
  Value rows, quotient;
  if (ShapedType::isDynamic(geometry.m) || geometry.family->traits.keepsTurns) {
    rows = b.min(b.sub(getRowUnits(), firstRow), b.i32(raster));
    quotient = b.div(inGroup, rows);
  } else if (int64_t left = geometry.rowUnits() % raster) {
    Value isLast = b.equal(firstRow, geometry.rowUnits() - left);
    rows = b.select(isLast, b.i32(left), b.i32(raster));
    quotient = b.select(isLast, b.div(inGroup, left), b.div(inGroup, raster));
  } else {
    rows = b.i32(raster);
    quotient = b.div(inGroup, raster);
  }
  return {quotient, b.sub(inGroup, b.mul(quotient, rows))};
}

/// The place of a tile's number in [M, N]: groups of `raster` row tiles, row by
/// row within a column, so that blocks at work together share rows of x and w.
void WorkPartition::setOrigin(Value tile, WorkItem &item) {
  const TileGeometry &geometry = frame.geometry;
  Value firstRow = b.i32(0), column, row;
  if (isDynamicResident(geometry)) { // one group
    Value rows = getRowUnits();
    column = b.div(tile, rows);
    row = b.rem(tile, rows);
  } else {
    int64_t raster = geometry.schedule.getRaster();
    if (geometry.isResident())
      raster = geometry.rowUnits();
    else if (!geometry.family->traits.keepsTurns &&
             !ShapedType::isDynamic(geometry.m))
      raster = std::min(raster, geometry.rowUnits());
    int64_t perGroup = geometry.columnUnits() / geometry.teamUnits() * raster;
    firstRow = b.mul(b.div(tile, perGroup), raster);
    std::tie(column, row) =
        divideGroup(b.rem(tile, perGroup), firstRow, raster);
  }
  if (int64_t teamUnits = geometry.teamUnits(); teamUnits != 1)
    column = b.add(b.mul(column, teamUnits), b.rem(frame.unit, teamUnits));
  item.row = b.mul(b.add(firstRow, row), geometry.unitM());
  item.column = b.mul(column, geometry.unitN());
  // A block's own tile of its cluster's.
  item.row = b.add(item.row,
                   b.mul(b.rem(frame.rank, geometry.clusterM), geometry.tileM));
  item.column = b.add(
      item.column, b.mul(b.div(frame.rank, geometry.clusterM), geometry.tileN));
}
