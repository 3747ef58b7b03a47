//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits TMA loads and stores of subtiles.
//
//===----------------------------------------------------------------------===//

#include "SubtileCopier.h"

#include "Mbarrier.h"
#include "TensorMaps.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::tenon;

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

/// Of an operand or result of the epilogue, behind those of x and each w.
Value SubtileCopier::getMap(unsigned index) {
  return frame.tensorMaps[frame.geometry.numMultiplied() + index];
}

Value SubtileCopier::getSlot(Value number) {
  return b.rem(number, subtiles.numBuffers);
}

Value SubtileCopier::getBarrier(Kind kind, Value number) {
  return copies.getBarrier(kind, getSlot(number), warpgroup);
}

/// As SubtileCopies::getParity.
Value SubtileCopier::getParity(Value number, Value tiles) {
  int64_t least = subtiles.getCount() / subtiles.numBuffers;
  int64_t more = subtiles.getCount() % subtiles.numBuffers;
  Value uses = b.add(b.toI32(b.less(getSlot(number), more)), least);
  Value before = b.bitAnd(b.mul(uses, tiles), 1);
  return b.bitXor(before, b.bitAnd(b.div(number, subtiles.numBuffers), 1));
}

/// A subtile's first row and column.
std::pair<Value, Value> SubtileCopier::getPlace(const WorkItem &item,
                                                Value number) {
  Value inRow = b.rem(number, subtiles.perRow);
  Value block = b.div(number, subtiles.perRow);
  Value offset = copies.getOffset(warpgroup);
  if (subtiles.isSwapped)
    return {b.add(item.row, b.mul(inRow, subtiles.rows)),
            b.add(b.add(item.column, offset), b.mul(block, subtiles.columns))};
  return {b.add(b.add(item.row, offset), b.mul(block, subtiles.rows)),
          b.add(item.column, b.mul(inRow, subtiles.columns))};
}

/// A box of the buffer.
Value SubtileCopier::getBox(const SubtileTensor &tensor, Value number,
                            int64_t box) {
  return b.offset(copies.getBuffer(tensor, getSlot(number), warpgroup),
                  box * subtiles.getBoxBytes(tensor));
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

void SubtileCopier::load(const WorkItem &item, Value number) {
  Value barrier = getBarrier(Kind::Loaded, number);
  int64_t bytes = 0;
  for (const SubtileTensor &operand : subtiles.operands)
    bytes += subtiles.getBufferBytes(operand);
  emitExpectBytes(b, barrier, bytes);
  auto [row, column] = getPlace(item, number);
  for (auto [index, operand] : llvm::enumerate(subtiles.operands))
    for (int64_t box = 0; box != subtiles.getBoxes(operand); ++box)
      emitTensorLoad(b, getMap(index),
                     b.add(column, box * subtiles.getBoxColumns(operand)), row,
                     getBox(operand, number, box), barrier);
}

/// If the tile has such a subtile.
void SubtileCopier::loadIfAny(const WorkItem &item, Value number) {
  frame.emitIf(b.less(number, subtiles.getCount()),
               [&] { load(item, number); });
}

void SubtileCopier::store(const WorkItem &item, Value number) {
  auto [row, column] = getPlace(item, number);
  unsigned first = subtiles.operands.size();
  for (auto [index, result] : llvm::enumerate(subtiles.results))
    for (int64_t box = 0; box != subtiles.getBoxes(result); ++box)
      NVVM::CpAsyncBulkTensorSharedCTAToGlobalOp::create(
          b, getMap(first + index), getBox(result, number, box),
          ValueRange{b.add(column, box * subtiles.getBoxColumns(result)), row},
          /*l2CacheHint=*/Value(), NVVM::TMAStoreMode::TILE,
          /*predicate=*/Value());
  NVVM::CpAsyncBulkCommitGroupOp::create(b);
}

/// Until all stores but the last `pending` have read their buffers.
void SubtileCopier::waitForReads(int64_t pending) {
  NVVM::CpAsyncBulkWaitGroupOp::create(b, b.getI32IntegerAttr(pending),
                                       /*read=*/b.getUnitAttr());
}

/// The subtile's results have been read.
void SubtileCopier::giveBack(const WorkItem &item, Value number) {
  if (subtiles.areShared)
    return loadIfAny(item, b.add(number, subtiles.numBuffers));
  emitArrival(b, getBarrier(Kind::Free, number));
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

void SubtileCopier::emitLoop(int64_t count,
                             llvm::function_ref<void(Value)> body) {
  auto loop = scf::ForOp::create(b, b.i32(0), b.i32(count), b.i32(1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
}

/// `tiles` have been copied before. Subtiles are not unrolled: the copying
/// warps have too few registers for the places of all of them.
void SubtileCopier::copyTile(const WorkItem &item, Value tiles) {
  int64_t count = subtiles.getCount(), buffers = subtiles.numBuffers;
  int64_t pending = std::min(subtiles.getPendingStores(), count);
  bool loadsBeside = !subtiles.operands.empty() && !subtiles.areShared;
  if (!subtiles.operands.empty()) {
    emitBarrierWait(b, getBarrier(Kind::Asked, b.i32(0)), tiles);
    emitLoop(std::min(buffers, count), [&](Value number) {
      if (copies.pauseNanoseconds != 0)
        NVVM::NanosleepOp::create(b, b.i32(copies.pauseNanoseconds));
      load(item, number);
    });
  }
  emitLoop(count, [&](Value number) {
    emitBarrierWait(b, getBarrier(Kind::Written, number),
                    getParity(number, tiles));
    store(item, number);
    if (loadsBeside)
      loadIfAny(item, b.add(number, buffers));
    waitForReads(pending);
    if (pending == 0)
      return giveBack(item, number);
    Value read = b.sub(number, pending);
    frame.emitIf(b.less(b.i32(-1), read), [&] { giveBack(item, read); });
  });
  if (pending == 0)
    return;
  // Shared memory must stay until it is read.
  waitForReads(0);
  emitLoop(pending, [&](Value number) {
    giveBack(item, b.add(number, count - pending));
  });
}

void SubtileCopier::emit() {
  bool isPingPong = frame.geometry.schedule.getPingPong();
  Value first = isPingPong ? b.sub(warpgroup, 1) : b.i32(0);
  partition.forEachTurn(
      first, isPingPong ? 2 : 1, b.i32(0),
      [&](Value turn, ValueRange state) -> SmallVector<Value> {
        WorkItem item = partition.getItem(turn);
        Value tiles = state[0], next = b.bitXor(tiles, 1);
        Value isLast = copies.endsTile(item);
        if (!isLast) {
          copyTile(item, tiles);
          return {next};
        }
        frame.emitIf(isLast, [&] { copyTile(item, tiles); });
        return {b.select(isLast, next, tiles)};
      });
}
