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

using namespace mlir;
using namespace mlir::tenon;

WorkPartition::WorkPartition(TiledFrame &frame) : frame(frame), b(frame.b) {
  const TileGeometry &geometry = frame.geometry;
  Value rows = b.ceilDiv(frame.m, geometry.unitM());
  Value tiles = b.mul(rows, geometry.columnUnits());
  SmallVector<std::pair<KeptScalar *, Value>> kept{{&rowUnits, rows}};
  // Tiles b, b + grid, ...; without stream-K the grid has no more blocks than
  // there are tiles.
  Value units = getUnits(rows);
  auto countTurns = [&](Value tiles) {
    return b.div(b.sub(b.add(b.sub(tiles, frame.unit), units), 1), units);
  };
  Value turns;
  if (geometry.schedule.getStreamK()) {
    Value numStreamed = chooseStreamed(tiles);
    Value others = b.sub(tiles, numStreamed);
    turns = b.select(b.less(frame.unit, others), countTurns(others), b.i32(0));
    turns = b.add(turns, divideStream(numStreamed, kept));
  } else {
    turns = countTurns(tiles);
    if (geometry.isResident()) // blocks that are cut off have none
      turns = b.select(b.less(frame.unit, units), turns, b.i32(0));
  }
  kept.push_back({&count, turns});
  for (auto [place, value] : kept)
    *place = frame.keep();
  frame.emitIf(b.equal(frame.lane, 0), [&] {
    for (auto [place, value] : kept)
      place->store(value);
  });
  frame.syncWarp();
}

/// How many take tiles, of `rowUnits` along M.
Value WorkPartition::getUnits(Value rowUnits) {
  if (!frame.geometry.isResident())
    return frame.units;
  if (!ShapedType::isDynamic(frame.geometry.m))
    rowUnits = b.i32(frame.geometry.rowUnits());
  return b.mul(b.div(frame.units, rowUnits), rowUnits);
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
  // A volatile load stays even where nothing uses it.
  const TileGeometry &geometry = frame.geometry;
  bool needsRows = geometry.isResident() && ShapedType::isDynamic(geometry.m);
  Value units = getUnits(needsRows ? rowUnits.load() : Value());
  setOrigin(b.add(frame.unit, b.mul(turn, units)), item);
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

/// The place of a tile's number in [M, N]: groups of `raster` row tiles, row by
/// row within a column, so that blocks at work together share rows of x and w.
void WorkPartition::setOrigin(Value tile, WorkItem &item) {
  const TileGeometry &geometry = frame.geometry;
  Value firstRow = b.i32(0), inGroup = tile, rows;
  if (geometry.isResident() && ShapedType::isDynamic(geometry.m)) {
    rows = rowUnits.load();
  } else {
    int64_t raster = geometry.isResident() ? geometry.rowUnits()
                                           : geometry.schedule.getRaster();
    int64_t perGroup = geometry.columnUnits() * raster;
    firstRow = b.mul(b.div(tile, perGroup), raster);
    inGroup = b.rem(tile, perGroup);
    rows = b.min(b.sub(rowUnits.load(), firstRow), b.i32(raster));
  }
  item.row = b.mul(b.add(firstRow, b.rem(inGroup, rows)), geometry.unitM());
  item.column = b.mul(b.div(inGroup, rows), geometry.unitN());
  // A block's own tile of its cluster's.
  item.row = b.add(item.row,
                   b.mul(b.rem(frame.rank, geometry.clusterM), geometry.tileM));
  item.column = b.add(
      item.column, b.mul(b.div(frame.rank, geometry.clusterM), geometry.tileN));
}
