//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits the copying thread's loops.
//
//===----------------------------------------------------------------------===//

#include "Producer.h"

#include "Codegen/CUDA/Tiled/Wgmma/Subtiles/TensorMaps.h"

using namespace mlir;
using namespace mlir::tenon;

/// What is taken to stay in L2 from turn to turn: half of an H100's.
static constexpr int64_t kKeptBytes = int64_t(25) << 20;
/// What L2 holds of w from stage to stage even if that is to leave it first: it
/// fetches lines in pairs, and the second one of a row is copied a stage later.
/// With 2 MiB a stage to leave first gained 3 % of time, with 4 it cost 1.5 %.
static constexpr int64_t kPassingBytes = int64_t(3) << 20;

/// Copies a tile's rows that lie at `row`, K from `column` on; of several
/// `parts`, this block's own, to all blocks. With `isTurned` rows of memory are
/// those of K, and as many of the tile's as a box is wide have a place
/// together, as large as theirs would be otherwise.
void Producer::copyRows(Value map, Value target, Value barrier, Value column,
                        Value row, int64_t rows, bool isTurned, Value part,
                        int64_t parts, Value policy) {
  const TileGeometry &geometry = frame.geometry;
  Value mask;
  if (parts != 1) {
    rows /= parts;
    row = b.add(row, b.mul(part, rows));
    target = b.offset(target, b.mul(part, rows * geometry.rowBytes));
    mask = arith::ConstantOp::create(
        b, b.getI16IntegerAttr(static_cast<int16_t>((1 << parts) - 1)));
  }
  if (!isTurned)
    return emitTensorLoad(b, map, column, row, target, barrier, mask, policy);
  for (int64_t first = 0; first != rows; first += geometry.turnedExtent())
    emitTensorLoad(b, map, b.add(row, first), column,
                   b.offset(target, first * geometry.rowBytes), barrier, mask,
                   policy);
}

/// Copies the term's K tile number `kTile`. Of several weights there is one
/// term.
void Producer::copyTerm(const WorkItem &item, Value kTile, Value stage,
                        unsigned term) {
  const TileGeometry &geometry = frame.geometry;
  Value column = b.mul(kTile, geometry.tileK);
  Value memory = ring.getMemory(stage), barrier = ring.getFullBarrier(stage);
  ArrayRef<Value> maps = ArrayRef(frame.tensorMaps).drop_front(2 * term);
  // A cluster lies along M or along N.
  copyRows(maps[0], memory, barrier, column, item.row, geometry.tileM,
           geometry.turnsX, frame.rank, geometry.clusterN);
  for (int64_t weight = 0; weight != geometry.weights; ++weight)
    copyRows(maps[1 + weight],
             b.offset(memory, geometry.getWeightOffset(weight)), barrier,
             column, item.column, geometry.tileN, geometry.turnsW, frame.rank,
             geometry.clusterM, policyOfW);
}

/// Copies the K tile number `kTile` of those of `term` and the terms behind it.
/// A kernel's tensor maps are constants, so there is a branch for each term.
void Producer::copyTerms(const WorkItem &item, Value kTile, Value stage,
                         unsigned term) {
  const TileGeometry &geometry = frame.geometry;
  if (term + 1 == geometry.termColumns.size())
    return copyTerm(item, kTile, stage, term);
  int64_t own = geometry.getKTiles(term);
  auto branch = scf::IfOp::create(b, b.less(kTile, own),
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  copyTerm(item, kTile, stage, term);
  b.setInsertionPointToStart(branch.elseBlock());
  copyTerms(item, b.sub(kTile, own), stage, term + 1);
}

void Producer::copyStage(const WorkItem &item, Value kTile, Value stage) {
  ring.expectBytes(stage);
  copyTerms(item, kTile, stage, /*term=*/0);
}

/// The K tile that is the turn's `number`-th. With reduction = resident every
/// turn reads all rows of x. Where x and w are more than L2 keeps, every second
/// one goes through K backward: it begins with what was read last.
Value Producer::getKTile(const WorkItem &item, Value turn, Value number) {
  const TileGeometry &geometry = frame.geometry;
  Value forward = b.add(item.kBegin, number);
  if (!geometry.isResident())
    return forward;
  int64_t rows =
      kKeptBytes / (geometry.rowBytes * geometry.kTiles()) - geometry.n;
  bool isDynamic = ShapedType::isDynamic(geometry.m);
  if (!isDynamic && geometry.m <= rows)
    return forward;
  Value last = b.sub(b.add(item.kBegin, item.kCount), 1);
  Value isForward = b.equal(b.bitAnd(turn, 1), 0);
  if (isDynamic)
    isForward = b.bitOr(isForward, b.less(frame.m, rows + 1));
  return b.select(isForward, forward, b.sub(last, number));
}

RingPosition Producer::copyTurn(Value turn, const RingPosition &first) {
  WorkItem item = partition.getItem(turn);
  auto loop = scf::ForOp::create(b, b.i32(0), item.kCount, b.i32(1),
                                 ValueRange{first.stage, first.parity});
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  RingPosition position{loop.getRegionIterArg(0), loop.getRegionIterArg(1)};
  ring.waitEmpty(position);
  Value kTile = getKTile(item, turn, loop.getInductionVar());
  copyStage(item, kTile, position.stage);
  RingPosition next = ring.getNext(position);
  scf::YieldOp::create(b, ValueRange{next.stage, next.parity});
  return {loop.getResult(0), loop.getResult(1)};
}

/// Until every stage has been released by all blocks of the cluster, so that
/// none of them reaches for the barriers of a block that has ended.
void Producer::waitForAll(RingPosition position) {
  for (int64_t stage = 0; stage != frame.geometry.stages; ++stage) {
    ring.waitEmpty(position);
    position = ring.getNext(position);
  }
}

/// Where a cluster's tiles have all rows of x, each element of w is read once
/// and is to leave L2 first. Where M is not known that is seen at run time.
Value Producer::getPolicyOfW() {
  const TileGeometry &geometry = frame.geometry;
  int64_t rows = geometry.tileM * geometry.clusterM;
  bool isDynamic = ShapedType::isDynamic(geometry.m);
  if ((!isDynamic && geometry.m > rows) ||
      geometry.weights * geometry.n * geometry.rowBytes > kPassingBytes)
    return Value();
  auto create = [&](StringRef priority) {
    std::string text =
        ("createpolicy.fractional.L2::" + priority + ".b64 $0, 1.0;").str();
    return b.ptx(b.getI64Type(), text, "=l", {});
  };
  Value first = create("evict_first");
  if (!isDynamic)
    return first;
  Value normal = create("evict_normal");
  return b.select(b.less(frame.m, rows + 1), first, normal);
}

void Producer::emit() {
  policyOfW = getPolicyOfW();
  SmallVector<Value> end = partition.forEachTurn(
      b.i32(0), /*step=*/1, {b.i32(0), b.i32(0)},
      [&](Value turn, ValueRange state) -> SmallVector<Value> {
        RingPosition position = copyTurn(turn, {state[0], state[1]});
        return {position.stage, position.parity};
      });
  if (frame.geometry.clusterBlocks() != 1)
    waitForAll({end[0], end[1]});
}
