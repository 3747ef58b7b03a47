//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits TMA loads and stores, and the waits for them.
//
//===----------------------------------------------------------------------===//

#include "SubtileCopies.h"

#include "Mbarrier.h"
#include "TensorMaps.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::tenon;

/// Tensor maps of x and w come before the epilogue's.
static constexpr unsigned kFirstMap = 2;

SubtileCopies::SubtileCopies(TiledFrame &frame, EpilogueSubtiles subtiles)
    : subtiles(std::move(subtiles)), frame(frame), b(frame.b) {
  if (!this->subtiles.operands.empty())
    finished = frame.keep();
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

/// The place of the warpgroup, of which `ofWarp` is the warp's own: a multiple
/// of 64.
Value SubtileCopies::addWarpgroup(Value ofTile, Value ofWarp) {
  return b.add(ofTile, b.bitAnd(ofWarp, ~(EpilogueSubtiles::kRows - 1)));
}

Value SubtileCopies::getRow(const WorkItem &item, int64_t number) {
  Value first =
      subtiles.isSwapped ? item.row : addWarpgroup(item.row, frame.warpRow);
  return b.add(first, subtiles.getRow(number));
}

Value SubtileCopies::getColumn(const WorkItem &item, int64_t number) {
  Value first = subtiles.isSwapped ? addWarpgroup(item.column, frame.warpColumn)
                                   : item.column;
  return b.add(first, subtiles.getColumn(number));
}

Value SubtileCopies::getBuffer(const SubtileTensor &tensor, int64_t number) {
  Value memory =
      b.offset(b.offset(frame.shared, frame.geometry.epilogueOffset()),
               b.mul(b.sub(frame.warpgroup, 1),
                     getWarpgroupEpilogueBytes(frame.geometry.schedule)));
  return b.offset(memory, tensor.offset + number % subtiles.numBuffers *
                                              subtiles.getBufferBytes(tensor));
}

/// A box of the buffer, and its first column.
Value SubtileCopies::getBox(const SubtileTensor &tensor, int64_t number,
                            int64_t box) {
  return b.offset(getBuffer(tensor, number),
                  box * subtiles.getBoxBytes(tensor));
}

Value SubtileCopies::getBoxColumn(const SubtileTensor &tensor, Value column,
                                  int64_t box) {
  return box == 0 ? column
                  : b.add(column, box * subtiles.getBoxColumns(tensor));
}

/// The barriers come after those of the stages, one a buffer of a warpgroup's.
Value SubtileCopies::getBarrier(Value warpgroup, int64_t number) {
  const TileGeometry &geometry = frame.geometry;
  Value first =
      b.offset(frame.shared, geometry.barriersOffset() + 16 * geometry.stages);
  return b.offset(
      b.offset(first, b.mul(b.sub(warpgroup, 1), 8 * subtiles.numBuffers)),
      8 * (number % subtiles.numBuffers));
}

//===----------------------------------------------------------------------===//
// The leader
//===----------------------------------------------------------------------===//

/// `condition` is the same in all threads of the warpgroup.
void SubtileCopies::emitIfLeader(Value condition,
                                 llvm::function_ref<void()> body) {
  Value isFirst = b.equal(b.bitAnd(frame.warp, 3), 0);
  frame.emitIf(condition ? b.both(isFirst, condition) : isFirst, [&] {
    // The same thread each time: it waits for the stores that it has issued.
    Value isElected = NVVM::ElectSyncOp::create(b, b.getI1Type(), Value());
    frame.emitIf(isElected, body);
  });
}

void SubtileCopies::issueLoads(const WorkItem &item, int64_t number) {
  Value barrier = getBarrier(frame.warpgroup, number);
  int64_t bytes = 0;
  for (const SubtileTensor &operand : subtiles.operands)
    bytes += subtiles.getBufferBytes(operand);
  emitExpectBytes(b, barrier, bytes);
  Value column = getColumn(item, number), row = getRow(item, number);
  for (auto [index, operand] : llvm::enumerate(subtiles.operands))
    for (int64_t box = 0; box != subtiles.getBoxes(operand); ++box)
      emitTensorLoad(b, frame.tensorMaps[kFirstMap + index],
                     getBoxColumn(operand, column, box), row,
                     getBox(operand, number, box), barrier);
}

void SubtileCopies::issueStores(const WorkItem &item, int64_t number) {
  Value column = getColumn(item, number), row = getRow(item, number);
  unsigned first = kFirstMap + subtiles.operands.size();
  for (auto [index, result] : llvm::enumerate(subtiles.results))
    for (int64_t box = 0; box != subtiles.getBoxes(result); ++box)
      NVVM::CpAsyncBulkTensorSharedCTAToGlobalOp::create(
          b, frame.tensorMaps[first + index], getBox(result, number, box),
          ValueRange{getBoxColumn(result, column, box), row},
          /*l2CacheHint=*/Value(), NVVM::TMAStoreMode::TILE,
          /*predicate=*/Value());
  NVVM::CpAsyncBulkCommitGroupOp::create(b);
}

//===----------------------------------------------------------------------===//
// The warpgroup
//===----------------------------------------------------------------------===//

void SubtileCopies::initialize() {
  if (subtiles.operands.empty())
    return;
  int64_t warpgroups = getConsumerWarpgroups(frame.geometry.schedule);
  for (int64_t warpgroup = 1; warpgroup <= warpgroups; ++warpgroup)
    for (int64_t buffer = 0; buffer != subtiles.numBuffers; ++buffer)
      emitBarrierInit(b, getBarrier(b.i32(warpgroup), buffer), 1);
}

void SubtileCopies::start() {
  if (subtiles.operands.empty())
    return;
  frame.emitIf(b.equal(frame.lane, 0), [&] { finished.store(b.i32(0)); });
  frame.syncWarp();
}

void SubtileCopies::loadFirst(const WorkItem &item) {
  if (subtiles.operands.empty())
    return;
  Value endsTile;
  // No one waits for the operands of a part that is handed over.
  if (frame.geometry.schedule.getStreamK())
    endsTile =
        b.equal(b.add(item.kBegin, item.kCount), frame.geometry.kTiles());
  emitIfLeader(endsTile, [&] {
    int64_t count = std::min<int64_t>(2, subtiles.getCount());
    for (int64_t number = 0; number != count; ++number)
      issueLoads(item, number);
  });
}

void SubtileCopies::waitForBuffers() {
  emitIfLeader(Value(), [&] {
    NVVM::CpAsyncBulkWaitGroupOp::create(b, b.getI32IntegerAttr(0),
                                         /*read=*/b.getUnitAttr());
  });
  frame.warpgroupBarrier();
}

void SubtileCopies::beginTile() {
  // Of two buffers and an odd number of subtiles, the tile before has ended in
  // the one that this tile begins with.
  if (subtiles.getCount() % subtiles.numBuffers != 0)
    waitForBuffers();
}

void SubtileCopies::waitForOperands(int64_t number) {
  if (subtiles.operands.empty())
    return;
  // How often the buffer is loaded for a tile, and was for this one.
  int64_t buffers = subtiles.numBuffers;
  int64_t loads =
      llvm::divideCeil(subtiles.getCount() - number % buffers, buffers);
  Value parity = b.i32(number / buffers % 2);
  if (loads % 2 == 1)
    parity = b.bitXor(finished.load(), parity);
  emitBarrierWait(b, getBarrier(frame.warpgroup, number), parity);
}

void SubtileCopies::store(const WorkItem &item, int64_t number) {
  // What was written in the usual way, TMA is to read.
  b.ptx("fence.proxy.async.shared::cta;", "~{memory}", {});
  waitForBuffers();
  emitIfLeader(Value(), [&] {
    issueStores(item, number);
    if (!subtiles.operands.empty() && number + 2 < subtiles.getCount())
      issueLoads(item, number + 2);
  });
}

void SubtileCopies::endTile() {
  if (subtiles.operands.empty())
    return;
  Value next = b.bitXor(finished.load(), 1);
  frame.syncWarp(); // all lanes have read it
  frame.emitIf(b.equal(frame.lane, 0), [&] { finished.store(next); });
  frame.syncWarp();
}

void SubtileCopies::finish() {
  frame.computePlace();
  emitIfLeader(Value(), [&] {
    NVVM::CpAsyncBulkWaitGroupOp::create(b, b.getI32IntegerAttr(0),
                                         /*read=*/UnitAttr());
  });
}
