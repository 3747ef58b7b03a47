//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits the main loop of the warps that multiply.
//
//===----------------------------------------------------------------------===//

#include "Consumer.h"

#include "Codegen/CUDA/Tiled/BlockScales.h"

#include "tenon/Schedule/Wgmma/WgmmaSchedule.h"

using namespace mlir;
using namespace mlir::tenon;

/// Stages after which fp16x3 promotes, of 32 elements of K each: each of their
/// 96 products a result is cut off, and with 8 stages sums of a few hundred
/// elements would be worse than those of ordinary f32 (docs/Rationale.md). At
/// most the 2 that every ring has: the warpgroup that has the tensor cores
/// waits for all of them.
static constexpr int64_t kPromoteStages = 1;

static bool promotes(const TileGeometry &geometry) {
  return geometry.schedule.getMethodTraits().hasPartialSums;
}

/// Of 8 bits without scales of blocks, whose promotion is short beside a
/// stage's products, warpgroups that drift apart hide more of each other's
/// epilogues.
bool Consumer::alternates(const TileGeometry &geometry) {
  bool isShort = geometry.schedule.getMethod() == ProductMethod::FP8 &&
                 !geometry.hasBlockScales;
  return promotes(geometry) && !isShort &&
         geometry.threads() == 2 * kWarpgroupThreads;
}

SmallVector<Value> Consumer::State::pack() const {
  return {next.stage, next.parity, pending, sums};
}

Consumer::State Consumer::State::unpack(ValueRange values) {
  return {{values[0], values[1]}, values[2], values[3]};
}

Consumer::State Consumer::begin(const RingPosition &first, int64_t groups) {
  ring.waitFull(first);
  Value sums = product.begin(first.stage, groups);
  return {ring.getNext(first), first.stage, sums};
}

Consumer::State Consumer::begin(Value passed, int64_t groups) {
  assert(!promotes(frame.geometry) && "promoted products are run as a whole");
  return begin(ring.getPosition(passed), groups);
}

Consumer::State Consumer::advance(State state, int64_t groups,
                                  llvm::function_ref<void()> beside) {
  ring.waitFull(state.next);
  state.sums = product.advance(state.sums, state.next.stage, groups);
  // What takes a while comes when the stage before may be copied to again.
  ring.release(state.pending);
  beside();
  return {ring.getNext(state.next), state.next.stage, state.sums};
}

Consumer::State Consumer::advanceAll(const State &state, Value first,
                                     Value count, int64_t groups) {
  auto loop = scf::ForOp::create(b, first, count, b.i32(1), state.pack());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  State last = advance(State::unpack(loop.getRegionIterArgs()), groups);
  scf::YieldOp::create(b, last.pack());
  return State::unpack(loop.getResults());
}

/// Starts the products of `count` stages, one at least.
Consumer::State Consumer::start(const RingPosition &first, Value count,
                                llvm::function_ref<void()> afterFirst) {
  State begun = begin(first, /*groups=*/1);
  afterFirst();
  return advanceAll(begun, b.i32(1), count, /*groups=*/1);
}

SmallVector<Value> Consumer::complete(const State &end) {
  SmallVector<Value> accumulators = product.complete(end.sums);
  ring.release(end.pending);
  return accumulators;
}

/// The products of a turn, promoted. No group is taken out of the loop: ptxas
/// would put off its additions, and have no registers left for the epilogue.
SmallVector<Value> Consumer::promote(const RingPosition &first,
                                     const WorkItem &item) {
  static_assert(kPromoteStages == 1, "what is promoted has one scale");
  Value count = item.kCount;
  std::optional<BlockScales> scales;
  if (frame.geometry.hasBlockScales)
    scales.emplace(frame, item);
  int64_t numSums = product.numAccumulators();
  SmallVector<Value> initial{first.stage, first.parity};
  initial.append(numSums, b.f32(0));
  // Those of a K tile are on their way while the one before is multiplied: none
  // is waited for between two turns of the tensor cores.
  if (scales)
    llvm::append_range(initial, scales->load(item.kBegin));
  auto loop =
      scf::ForOp::create(b, b.i32(0), count, b.i32(kPromoteStages), initial);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  ValueRange state = loop.getRegionIterArgs();
  Value left = b.sub(count, loop.getInductionVar());
  if (alternates(frame.geometry))
    order.take();
  State end =
      start({state[0], state[1]}, b.min(left, b.i32(kPromoteStages)), [] {});
  if (alternates(frame.geometry))
    order.pass();
  SmallVector<Value> loaded;
  if (scales) {
    Value ahead = b.min(b.add(loop.getInductionVar(), 1), b.sub(count, 1));
    loaded = scales->load(b.add(item.kBegin, ahead));
  }
  SmallVector<Value> partial = complete(end);
  SmallVector<Value> next{end.next.stage, end.next.parity};
  ValueRange sums = state.slice(2, numSums);
  if (scales)
    llvm::append_range(
        next, scales->add(sums, partial, state.drop_front(2 + numSums)));
  else
    for (auto [sum, other] : llvm::zip_equal(sums, partial))
      next.push_back(arith::AddFOp::create(b, sum, other));
  llvm::append_range(next, loaded);
  scf::YieldOp::create(b, next);
  return SmallVector<Value>(loop.getResults().slice(2, numSums));
}

SmallVector<Value> Consumer::run(const WorkItem &item, Value passed,
                                 llvm::function_ref<void()> afterFirst,
                                 llvm::function_ref<void()> beforeEnd) {
  RingPosition first = ring.getPosition(passed);
  if (promotes(frame.geometry)) {
    afterFirst();
    SmallVector<Value> sums = promote(first, item);
    beforeEnd();
    return sums;
  }
  State end = start(first, item.kCount, afterFirst);
  beforeEnd();
  return complete(end);
}
