//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exchanges partial tiles between blocks.
//
//===----------------------------------------------------------------------===//

#include "PartialTiles.h"

#include "tenon/Schedule/Checks/Schedule.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::tenon;

/// The number of the block of `unit` that has this block's rank.
static Value getBlock(TiledFrame &frame, Value unit) {
  KernelBuilder &b = frame.b;
  return b.add(b.mul(unit, frame.geometry.clusterBlocks()), frame.rank);
}

/// Flags first, one i64 a block.
static Value getFlag(TiledFrame &frame, Value unit) {
  KernelBuilder &b = frame.b;
  return b.offset(frame.workspace, b.mul(b.toI64(getBlock(frame, unit)), 8));
}

/// This thread's first 16 bytes of a block's partial tile. A tile lies as
/// groups of 4 accumulators, thread by thread within a group.
static Value getPartial(TiledFrame &frame, Value unit) {
  KernelBuilder &b = frame.b;
  const TileGeometry &geometry = frame.geometry;
  int64_t flags = 8 * getMaxBlocks(geometry.schedule);
  Value tile = b.mul(b.toI64(getBlock(frame, unit)),
                     geometry.tileM * geometry.tileN * geometry.weights * 4);
  Value own = b.add(b.mul(b.toI64(frame.thread), 16), tile);
  return b.offset(b.offset(frame.workspace, flags), own);
}

static VectorType getGroupType(KernelBuilder &b) {
  return VectorType::get(4, b.getF32Type());
}

void tenon::emitPublish(TiledFrame &frame, ValueRange accumulators) {
  KernelBuilder &b = frame.b;
  Value place = getPartial(frame, frame.unit);
  for (unsigned i = 0; i != accumulators.size(); i += 4) {
    Value group = vector::FromElementsOp::create(b, getGroupType(b),
                                                 accumulators.slice(i, 4));
    LLVM::StoreOp::create(
        b, group, b.offset(place, i / 4 * frame.geometry.threads() * 16),
        /*alignment=*/16);
  }
  frame.barrier();
  frame.emitIf(b.equal(frame.thread, 0), [&] {
    // Cumulative: after the barrier it covers what the other threads stored.
    b.ptx("fence.acq_rel.gpu; st.relaxed.gpu.global.b64 [$0], $1;",
          "l,l,~{memory}", {getFlag(frame, frame.unit), frame.token});
  });
}

/// Waits until `unit` has marked its partial tile, and clears the mark.
static void emitWait(TiledFrame &frame, Value unit) {
  KernelBuilder &b = frame.b;
  frame.emitIf(b.equal(frame.thread, 0), [&] {
    b.ptx("{ .reg .pred p; .reg .b64 seen; "
          "again: ld.acquire.gpu.global.b64 seen, [$0]; "
          "setp.ne.b64 p, seen, $1; @p bra again; "
          "st.relaxed.gpu.global.b64 [$0], 0; }",
          "l,l,~{memory}", {getFlag(frame, unit), frame.token});
  });
  frame.barrier();
}

static SmallVector<Value> emitAdd(TiledFrame &frame, Value unit,
                                  ValueRange accumulators) {
  KernelBuilder &b = frame.b;
  Value place = getPartial(frame, unit);
  SmallVector<Value> sums;
  for (unsigned i = 0; i != accumulators.size(); i += 4) {
    Value group = LLVM::LoadOp::create(
        b, getGroupType(b),
        b.offset(place, i / 4 * frame.geometry.threads() * 16),
        /*alignment=*/16);
    for (unsigned j = 0; j != 4; ++j)
      sums.push_back(arith::AddFOp::create(
          b, accumulators[i + j], vector::ExtractOp::create(b, group, j)));
  }
  return sums;
}

SmallVector<Value> tenon::emitGather(TiledFrame &frame,
                                     WorkPartition &partition,
                                     const WorkItem &item,
                                     ValueRange accumulators) {
  KernelBuilder &b = frame.b;
  // The unit whose part comes next, how many K tiles are still missing, sums.
  SmallVector<Value> initial{frame.unit, item.kBegin};
  llvm::append_range(initial, accumulators);
  auto isMissing = [&](OpBuilder &, Location, ValueRange state) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(state[0].getParentBlock());
    scf::ConditionOp::create(b, b.less(b.i32(0), state[1]), state);
  };
  auto addPart = [&](OpBuilder &, Location, ValueRange state) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(state[0].getParentBlock());
    Value unit = b.sub(state[0], 1);
    emitWait(frame, unit);
    SmallVector<Value> next{unit,
                            b.sub(state[1], partition.getRangeLength(unit))};
    llvm::append_range(next, emitAdd(frame, unit, state.drop_front(2)));
    scf::YieldOp::create(b, next);
  };
  auto loop = scf::WhileOp::create(b, ValueRange(initial).getTypes(), initial,
                                   isMissing, addPart);
  return SmallVector<Value>(loop.getResults().drop_front(2));
}
