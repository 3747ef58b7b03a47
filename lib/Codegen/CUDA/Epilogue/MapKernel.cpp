//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kernel that maps elements to an epilogue's results.
//
//===----------------------------------------------------------------------===//

#include "MapKernel.h"
#include "ReductionHead.h"
#include "SharedStates.h"

using namespace mlir;
using namespace mlir::tenon;

namespace {
class MapKernel {
public:
  MapKernel(KernelFrame &frame, EpilogueOp op, const EpiloguePhase &phase)
      : frame(frame), b(frame.b), op(op), phase(phase),
        emitter(frame.b, frame.pointers, frame.column, frame.geometry.lanes) {}

  void emit() {
    bool hasGroups = addsSumsAlone(op);
    for (size_t number = 0; number != phase.finished.size(); ++number)
      if (hasGroups)
        frame.emitIf(b.equal(frame.group, number),
                     [&] { emitReduction(number, /*group=*/number); });
      else
        emitReduction(number, /*group=*/0);
    emitter.emitRowInvariant(phase);
    storeRowInvariant();
    // The tiles that were written last are still in L2. A phase that reduces
    // begins with those itself, and leaves the first ones there.
    bool newestFirst =
        !phase.finished.empty() &&
        llvm::all_of(phase.finished, [](ReductionEpilogueOp reduction) {
          return static_cast<bool>(EpiloguePlan::getMoments(reduction));
        });
    if (!storesRows(op))
      return;
    scf::ForOp::create(b, frame.group, frame.tiles, frame.groups, ValueRange(),
                       [&](OpBuilder &, Location, Value tile, ValueRange) {
                         OpBuilder::InsertionGuard guard(b);
                         b.setInsertionPointToEnd(tile.getParentBlock());
                         emitTile(newestFirst ? reverse(tile) : tile);
                         scf::YieldOp::create(b);
                       });
  }

private:
  /// Ends one of the reductions; `group` writes what comes of it.
  void emitReduction(size_t number, int64_t group) {
    ReductionEpilogueOp reduction = phase.finished[number];
    emitHead(frame, reduction, frame.finishedStates[number],
             getColumnOutputs(reduction), emitter, group);
  }

  Value reverse(Value tile) {
    return b.sub(b.sub(frame.tiles, b.i64(1)), tile);
  }

  /// Where the first group writes a reduction's per-column results.
  SmallVector<Value> getColumnOutputs(ReductionEpilogueOp reduction) {
    ResultRange results = reduction.getColumnResults();
    SmallVector<Value> outputs(results.size());
    for (auto [value, output] :
         llvm::zip(op.getYield().getValues(), frame.outputs))
      if (auto found = llvm::find(results, value); found != results.end())
        outputs[found - results.begin()] = output;
    return outputs;
  }

  static bool isColumnResult(Value value) {
    auto reduction = value.getDefiningOp<ReductionEpilogueOp>();
    return reduction && value != reduction.getMapped();
  }

  SmallVector<Value> getLanes(Value value, unsigned row) {
    bool byColumn = EpiloguePlan::variesByColumn(value.getType());
    SmallVector<Value> lanes;
    for (unsigned lane = 0; lane != (byColumn ? frame.geometry.lanes : 1);
         ++lane)
      lanes.push_back(emitter.get(value, row, lane));
    return lanes;
  }

  /// Whether this thread is the one that stores `value` in its rows.
  Value isOwner(Value value) {
    if (EpiloguePlan::variesByColumn(value.getType()))
      return frame.columnInRange;
    return b.both(frame.columnInRange, b.equal(frame.column, 0));
  }

  /// Results with one value a feature, or one at all: the first group's.
  void storeRowInvariant() {
    for (auto [value, output] :
         llvm::zip(op.getYield().getValues(), frame.outputs)) {
      if (EpiloguePlan::variesByRow(value.getType()) || isColumnResult(value))
        continue;
      SmallVector<Value> lanes = getLanes(value, 0);
      Value first = b.both(b.equal(frame.group, 0), b.equal(frame.threadY, 0));
      frame.emitIf(b.both(first, isOwner(value)), [&] {
        storeLanes(b, output,
                   getOffset(b, value.getType(), Value(), frame.column),
                   getElementTypeOrSelf(value.getType()), lanes);
      });
    }
  }

  /// Loads, then arithmetic, then stores: an output may be an input's buffer.
  void emitTile(Value tile) {
    unsigned count = frame.geometry.rows;
    SmallVector<Value> rows = frame.getRows(tile, count);
    SmallVector<Value> clamped = frame.clampRows(rows);
    emitter.beginRows(clamped, phase.operands);
    SmallVector<std::tuple<Value, Value, unsigned, SmallVector<Value>>> stores;
    for (unsigned row = 0; row != count; ++row)
      for (auto [value, output] :
           llvm::zip(op.getYield().getValues(), frame.outputs))
        if (EpiloguePlan::variesByRow(value.getType()))
          stores.emplace_back(value, output, row, getLanes(value, row));
    for (auto &[value, output, row, lanes] : stores) {
      Value inRange = b.less(rows[row], frame.m);
      Value offset = getOffset(b, value.getType(), clamped[row], frame.column);
      frame.emitIf(b.both(inRange, isOwner(value)),
                   [&, &value = value, &output = output, &lanes = lanes] {
                     storeLanes(b, output, offset,
                                getElementTypeOrSelf(value.getType()), lanes);
                   });
    }
  }

  KernelFrame &frame;
  KernelBuilder &b;
  EpilogueOp op;
  const EpiloguePhase &phase;
  ElementEmitter emitter;
};
} // namespace

bool tenon::storesRows(EpilogueOp op) {
  return llvm::any_of(op.getYield().getOperandTypes(),
                      EpiloguePlan::variesByRow);
}

bool tenon::addsSumsAlone(EpilogueOp op) {
  auto reductions = op.getBody()->getOps<ReductionEpilogueOp>();
  return !storesRows(op) && !reductions.empty() &&
         llvm::all_of(reductions, [](ReductionEpilogueOp reduction) {
           return isa<BatchSumOp>(reduction) &&
                  EpiloguePlan::getMoments(reduction);
         });
}

LLVM::LLVMFuncOp tenon::emitMapKernel(gpu::GPUModuleOp module, StringRef name,
                                      EpilogueOp op, const EpiloguePhase &phase,
                                      const KernelGeometry &geometry) {
  KernelFrame frame(module, name, op.getLoc(), geometry, phase,
                    op.getOutputs().size());
  MapKernel(frame, op, phase).emit();
  frame.close();
  return frame.getFunction();
}
