//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits the places of subtiles' buffers, and the waits for them.
//
//===----------------------------------------------------------------------===//

#include "SubtileCopies.h"

#include "tenon/Schedule/Wgmma/WgmmaSchedule.h"

#include "Mbarrier.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::tenon;

SubtileCopies::SubtileCopies(TiledFrame &frame, EpilogueSubtiles subtiles)
    : subtiles(std::move(subtiles)), frame(frame), b(frame.b),
      finished(frame.keepForTurns()) {}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

/// Where the warpgroup's part of a tile begins along wgmma's rows.
Value SubtileCopies::getOffset(Value warpgroup) {
  if (frame.geometry.schedule.getPingPong())
    return b.i32(0);
  return b.mul(b.sub(warpgroup, 1),
               subtiles.rowBlocks * EpilogueSubtiles::kRows);
}

Value SubtileCopies::getRow(const WorkItem &item, int64_t number) {
  Value first = subtiles.isSwapped
                    ? item.row
                    : b.add(item.row, getOffset(frame.warpgroup));
  return b.add(first, subtiles.getRow(number));
}

Value SubtileCopies::getBuffer(const SubtileTensor &tensor, Value slot,
                               Value warpgroup) {
  Value memory =
      b.offset(b.offset(frame.shared, frame.geometry.epilogueOffset()),
               b.mul(b.sub(warpgroup, 1),
                     getWarpgroupEpilogueBytes(frame.geometry.schedule)));
  return b.offset(b.offset(memory, tensor.offset),
                  b.mul(slot, subtiles.getBufferBytes(tensor)));
}

Value SubtileCopies::getBuffer(const SubtileTensor &tensor, Value number) {
  return getBuffer(tensor, b.rem(number, subtiles.numBuffers), frame.warpgroup);
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

SmallVector<SubtileCopies::Kind> SubtileCopies::getKinds() const {
  SmallVector<Kind> kinds{Kind::Written};
  if (!subtiles.areShared)
    kinds.push_back(Kind::Free);
  if (!subtiles.operands.empty())
    kinds.append({Kind::Loaded, Kind::Asked});
  return kinds;
}

/// One of each warp that writes, else of one thread.
int64_t SubtileCopies::getArrivals(Kind kind) const {
  return kind == Kind::Written ? kWarpgroupThreads / 32 : 1;
}

/// The barriers come after those of the stages, those of a warpgroup together:
/// of each kind one a buffer; and of Asked, the last kind, the first alone.
Value SubtileCopies::getBarrier(Kind kind, Value slot, Value warpgroup) {
  const TileGeometry &geometry = frame.geometry;
  SmallVector<Kind> kinds = getKinds();
  int64_t index = llvm::find(kinds, kind) - kinds.begin();
  int64_t first = geometry.barriersOffset() + 16 * geometry.stages;
  int64_t ofKind = 8 * subtiles.numBuffers;
  int64_t ofWarpgroup = 8 * subtiles.getNumBarriers();
  Value place = b.add(b.mul(b.sub(warpgroup, 1), ofWarpgroup),
                      b.add(b.mul(slot, 8), first + index * ofKind));
  return b.offset(frame.shared, place);
}

Value SubtileCopies::getBarrier(Kind kind, Value number) {
  return getBarrier(kind, b.rem(number, subtiles.numBuffers), frame.warpgroup);
}

/// That of the phase that the subtile's use of its buffer is: how often the
/// buffer has been used before.
Value SubtileCopies::getParity(Value number) {
  int64_t buffers = subtiles.numBuffers;
  std::optional<int64_t> known = getConstantIntValue(number);
  assert((known || subtiles.getCount() % buffers == 0) &&
         "some buffers are used once more than others");
  int64_t uses = llvm::divideCeil(
      subtiles.getCount() - known.value_or(0) % buffers, buffers);
  Value parity = b.bitAnd(b.div(number, buffers), 1);
  return uses % 2 == 1 ? b.bitXor(finished.load(), parity) : parity;
}

void SubtileCopies::initialize(int64_t warpgroup) {
  for (Kind kind : getKinds()) {
    int64_t count = kind == Kind::Asked ? 1 : subtiles.numBuffers;
    for (int64_t number = 0; number != count; ++number)
      emitBarrierInit(b, getBarrier(kind, b.i32(number), b.i32(warpgroup)),
                      getArrivals(kind));
  }
}

/// Of the warp, when all its lanes have come so far, at each of `barriers`.
void SubtileCopies::arrive(ArrayRef<Value> barriers) {
  frame.syncWarp();
  frame.emitIf(b.equal(frame.lane, 0), [&] {
    for (Value barrier : barriers)
      emitArrival(b, barrier);
  });
}

//===----------------------------------------------------------------------===//
// The warps that multiply
//===----------------------------------------------------------------------===//

void SubtileCopies::start() { frame.store({{finished, b.i32(0)}}); }

/// What only the last turn of a tile does: no one waits for the operands of a
/// part that is handed over, nor has it results. Null if all turns are such.
Value SubtileCopies::endsTile(const WorkItem &item) {
  if (!frame.geometry.schedule.getStreamK())
    return Value();
  return b.equal(b.add(item.kBegin, item.kCount), frame.geometry.kTiles());
}

void SubtileCopies::askForOperands(const WorkItem &item) {
  if (subtiles.operands.empty())
    return;
  Value isFirst = b.equal(b.bitAnd(frame.warp, 3), 0);
  if (Value isLast = endsTile(item))
    isFirst = b.both(isFirst, isLast);
  frame.emitIf(isFirst, [&] { arrive(getBarrier(Kind::Asked, b.i32(0))); });
}

void SubtileCopies::waitUntilFree(Value number) {
  // A barrier that has not completed any phase passes for the odd one before.
  emitBarrierWait(b, getBarrier(Kind::Free, number),
                  b.bitXor(getParity(number), 1));
}

void SubtileCopies::waitForStores() {
  assert(!subtiles.areShared && "loads into the buffers may be under way");
  // Buffers are given back in the order of subtiles.
  waitUntilFree(b.i32((subtiles.getCount() - 1) % subtiles.numBuffers));
}

void SubtileCopies::acquireAhead(int64_t count) {
  if (frame.geometry.schedule.getStreamK()) // the tile's end may be another's
    return;
  count = std::min(count, subtiles.numBuffers);
  for (int64_t number = 0; number != count; ++number)
    acquire(number);
  ahead = count;
}

void SubtileCopies::acquire(Value number) {
  std::optional<int64_t> known = getConstantIntValue(number);
  if (known && *known < ahead)
    return;
  if (!subtiles.operands.empty())
    emitBarrierWait(b, getBarrier(Kind::Loaded, number), getParity(number));
  if (!subtiles.areShared)
    waitUntilFree(number);
}

void SubtileCopies::release(int64_t first, int64_t end) {
  SmallVector<Value> numbers;
  for (int64_t number = first; number != end; ++number)
    numbers.push_back(b.i32(number));
  release(numbers);
}

void SubtileCopies::release(ArrayRef<Value> numbers) {
  // What was written in the usual way, TMA is to read.
  b.ptx("fence.proxy.async.shared::cta;", "~{memory}", {});
  SmallVector<Value> barriers;
  for (Value number : numbers)
    barriers.push_back(getBarrier(Kind::Written, number));
  arrive(barriers);
}

void SubtileCopies::endTile() {
  ahead = 0;
  frame.store({{finished, b.bitXor(finished.load(), 1)}});
}
