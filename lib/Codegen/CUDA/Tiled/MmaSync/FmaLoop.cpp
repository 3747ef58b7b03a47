//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits the main loop of a kernel that multiplies f32 without tensor cores.
//
//===----------------------------------------------------------------------===//

#include "FmaLoop.h"

using namespace mlir;
using namespace mlir::tenon;

/// What an iteration hands to the next, all of it in registers.
struct FmaLoop::Carried {
  SmallVector<Value> accumulators, sources;
  Value readStage, writeStage; ///< byte offsets in shared memory

  SmallVector<Value> pack() const {
    SmallVector<Value> values(accumulators);
    llvm::append_range(values, sources);
    values.append({readStage, writeStage});
    return values;
  }
  /// The same with other values.
  Carried unpack(ValueRange values) const {
    Carried other;
    other.accumulators =
        llvm::to_vector_of<Value>(values.take_front(accumulators.size()));
    other.sources = llvm::to_vector_of<Value>(
        values.slice(accumulators.size(), sources.size()));
    other.readStage = values.drop_back().back();
    other.writeStage = values.back();
    return other;
  }
};

SmallVector<Value> FmaLoop::run(const WorkItem &item) {
  const TileGeometry &geometry = frame.geometry;
  Carried first;
  first.accumulators.assign(product.numAccumulators(), b.f32(0));
  first.readStage = b.i32(0);
  first.writeStage = b.i32((geometry.stages - 1) * geometry.stageBytes());
  first.sources =
      copies.getMovingSources(item, b.add(item.kBegin, geometry.stages - 2));
  auto loop =
      scf::ForOp::create(b, b.i32(0), item.kCount, b.i32(1), first.pack());
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Carried last = advance(item, loop.getInductionVar(),
                           first.unpack(loop.getRegionIterArgs()));
    scf::YieldOp::create(b, last.pack());
  }
  frame.barrier();
  return first.unpack(loop.getResults()).accumulators;
}

FmaLoop::Carried FmaLoop::advance(const WorkItem &item, Value kTile,
                                  Carried carried) {
  copies.wait(frame.geometry.stages - 2);
  frame.barrier();
  copyNext(item, kTile, carried);
  SmallVector<Value> sums =
      product.multiply(b.offset(frame.shared, carried.readStage));
  for (auto [accumulator, sum] : llvm::zip(carried.accumulators, sums))
    accumulator = arith::AddFOp::create(b, accumulator, sum);
  carried.readStage = copies.getNextStage(carried.readStage);
  carried.writeStage = copies.getNextStage(carried.writeStage);
  return carried;
}

/// Copies a later K tile into the stage that was multiplied before this one.
void FmaLoop::copyNext(const WorkItem &item, Value kTile, Carried &carried) {
  Value copied = b.add(kTile, frame.geometry.stages - 1);
  Value isReal = b.toI32(b.less(copied, item.kCount));
  Value validBytes = copies.getValidBytes(b.add(item.kBegin, copied));
  Value target = copies.getTarget(carried.writeStage);
  for (unsigned i = 0; i != copies.getCount(); ++i)
    copies.copyNext(i, target, carried.sources[i], isReal, validBytes);
  copies.commit();
}
