//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits the clearing and setting of a product's flags.
//
//===----------------------------------------------------------------------===//

#include "TileMarks.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::tenon;

static Progress getProgress(TiledFrame &frame) {
  return Progress(frame.b, frame.workspace, ProgressLayout::get(frame.geometry),
                  frame.m);
}

TileMarks::TileMarks(TiledFrame &frame)
    : frame(frame), b(frame.b), progress(getProgress(frame)),
      pending(frame.keep()) {}

void TileMarks::clear(TiledFrame &frame, WorkPartition &partition) {
  KernelBuilder &b = frame.b;
  const TileGeometry &geometry = frame.geometry;
  Progress progress = getProgress(frame);
  Value thread = b.add(b.shiftLeft(frame.warp, 5), frame.lane);
  Value isFirst = b.both(b.equal(frame.unit, 0), b.equal(frame.rank, 0));
  frame.emitIf(isFirst, [&] {
    progress.clearCounters(thread, geometry.blockThreads());
  });
  auto loop = scf::ForOp::create(b, thread, partition.getCount(),
                                 b.i32(geometry.blockThreads()));
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    WorkItem item = partition.getItem(loop.getInductionVar());
    progress.clearFlags(progress.getFlagNumber(item.row, item.column),
                        geometry.tileM / ProgressLayout::kFlagRows);
  }
  // All of the block's zeros are there when one of its threads says so.
  b.ptx("fence.acq_rel.gpu;", "~{memory}", {});
  NVVM::Barrier0Op::create(b);
  NVVM::GriddepcontrolOp::create(b, NVVM::GridDepActionKind::launch_dependents);
}

void TileMarks::start() {
  frame.emitIf(b.equal(frame.lane, 0), [&] { pending.store(b.i32(-1)); });
  frame.syncWarp();
}

void TileMarks::endTile(Value row, Value column) {
  Value number = progress.getFlagNumber(row, column);
  frame.syncWarp(); // all lanes have read the one before
  frame.emitIf(b.equal(frame.lane, 0), [&] { pending.store(number); });
  frame.syncWarp();
}

void TileMarks::mark() {
  const TileGeometry &geometry = frame.geometry;
  int64_t rows = geometry.schedule.getPingPong()
                     ? geometry.tileM
                     : geometry.tileM * 4 / geometry.warpsM;
  Value number = pending.load();
  frame.emitIf(b.less(b.i32(-1), number), [&] {
    progress.setFlags(number, rows / ProgressLayout::kFlagRows);
  });
}
