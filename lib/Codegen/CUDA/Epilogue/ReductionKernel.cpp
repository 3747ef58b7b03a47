//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kernel that reduces the rows of each column to a few states.
//
//===----------------------------------------------------------------------===//

#include "ReductionKernel.h"
#include "ReductionHead.h"
#include "SharedStates.h"

using namespace mlir;
using namespace mlir::tenon;

namespace {
class ReductionKernel {
public:
  ReductionKernel(KernelFrame &frame, const EpiloguePhase &phase)
      : frame(frame), b(frame.b), phase(phase), reduction(phase.reduction),
        type(getStateType(reduction)), lanes(frame.geometry.lanes),
        emitter(frame.b, frame.pointers, frame.column, lanes) {}

  void emit() {
    for (auto [index, finished] : llvm::enumerate(phase.finished)) {
      ReductionEpilogueOp earlier = finished;
      emitHead(frame, earlier, frame.finishedStates[index],
               SmallVector<Value>(earlier.getColumnResults().size()), emitter);
    }
    emitter.emitRowInvariant(phase);
    SmallVector<Value> reduced = walkTiles();
    storeGroupState(frame, reduction, reduced, [](ArrayRef<Value> states) {
      return llvm::to_vector(states);
    });
  }

private:
  /// Count and states of this thread's rows. The last rows come first: they
  /// were written last, and are still in L2.
  SmallVector<Value> walkTiles() {
    SmallVector<Value> initial{b.real(type, 0.0)};
    for (Value scalar : reduction.emitInit(b, b.getLoc(), type))
      initial.append(lanes, scalar);
    auto loop = scf::ForOp::create(
        b, frame.group, frame.tiles, frame.groups, initial,
        [&](OpBuilder &, Location, Value index, ValueRange carried) {
          OpBuilder::InsertionGuard guard(b);
          b.setInsertionPointToEnd(index.getParentBlock());
          Value last = b.sub(frame.tiles, b.i64(1));
          scf::YieldOp::create(b, emitTile(b.sub(last, index), carried));
        });
    return loop.getResults();
  }

  /// A full tile at once, a ragged one row by row.
  SmallVector<Value> emitTile(Value tile, ValueRange carried) {
    Value end = b.mul(b.add(tile, b.i64(1)), b.i64(frame.geometry.tileRows()));
    Value full =
        arith::CmpIOp::create(b, arith::CmpIPredicate::sle, end, frame.m);
    auto branch = scf::IfOp::create(b, carried.getTypes(), full,
                                    /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    SmallVector<Value> rows = frame.getRows(tile, frame.geometry.rows);
    Value count = b.real(type, frame.geometry.rows);
    scf::YieldOp::create(b, addRows(rows, count, carried));
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, emitRaggedTile(tile, carried));
    return branch.getResults();
  }

  SmallVector<Value> emitRaggedTile(Value tile, ValueRange carried) {
    Value first = frame.getRows(tile, 1)[0];
    auto loop = scf::ForOp::create(
        b, b.i64(0), b.i64(frame.geometry.rows), b.i64(1), carried,
        [&](OpBuilder &, Location, Value index, ValueRange values) {
          OpBuilder::InsertionGuard guard(b);
          b.setInsertionPointToEnd(index.getParentBlock());
          Value row =
              b.add(first, b.mul(index, b.i64(frame.geometry.threadsY)));
          SmallVector<Value> added =
              addRows(frame.clampRows(row), b.real(type, 1.0), values);
          // A row beyond M is none.
          Value exists = b.less(row, frame.m);
          for (auto [after, before] : llvm::zip(added, values))
            after = arith::SelectOp::create(b, exists, after, before);
          scf::YieldOp::create(b, added);
        });
    return loop.getResults();
  }

  /// `carried` (count, then states) with a few rows more.
  SmallVector<Value> addRows(ArrayRef<Value> rows, Value count,
                             ValueRange carried) {
    emitter.beginRows(rows, phase.operands);
    unsigned size = reduction.getStateSize();
    SmallVector<Value> chunk(size * lanes);
    for (unsigned lane = 0; lane != lanes; ++lane) {
      SmallVector<Value> elements;
      for (unsigned row = 0; row != rows.size(); ++row)
        elements.push_back(emitter.get(reduction.getReducedInput(), row, lane));
      SmallVector<Value> state = reduction.emitChunk(b, b.getLoc(), elements);
      for (unsigned scalar = 0; scalar != size; ++scalar)
        chunk[scalar * lanes + lane] = state[scalar];
    }
    SmallVector<Value> before(carried.drop_front());
    SmallVector<Value> result = combineStates(frame, reduction, carried[0],
                                              before, count, chunk, lanes);
    result.insert(result.begin(), arith::AddFOp::create(b, carried[0], count));
    return result;
  }

  KernelFrame &frame;
  KernelBuilder &b;
  const EpiloguePhase &phase;
  ReductionEpilogueOp reduction;
  Type type;
  unsigned lanes;
  ElementEmitter emitter;
};
} // namespace

LLVM::LLVMFuncOp tenon::emitReductionKernel(gpu::GPUModuleOp module,
                                            StringRef name, EpilogueOp op,
                                            const EpiloguePhase &phase,
                                            const KernelGeometry &geometry) {
  KernelFrame frame(module, name, op.getLoc(), geometry, phase,
                    /*numOutputs=*/0);
  ReductionKernel(frame, phase).emit();
  frame.close();
  return frame.getFunction();
}
