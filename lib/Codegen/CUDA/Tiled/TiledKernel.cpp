//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Puts a tiled kernel together: turns, main loop, epilogue.
//
//===----------------------------------------------------------------------===//

#include "TiledKernel.h"

#include "../Sm80/FmaLoop.h"
#include "../Sm80/MainLoop.h"
#include "../Sm90/TensorMaps.h"
#include "../Sm90/WarpSpecialized.h"
#include "RangeGuard.h"
#include "TileEnd.h"
#include "TileEpilogue.h"

using namespace mlir;
using namespace mlir::tenon;

namespace {
/// A block's turns.
class Turns {
public:
  Turns(TiledFrame &frame, TiledLinearOp op)
      : frame(frame), b(frame.b), op(op), partition(frame), turn(frame) {}

  void emit();
  /// Those with a row that split products do not serve.
  void emitGuarded();

private:
  SmallVector<Value> multiply();
  void emitTurn();
  void emitGuardedTurn();
  void storeNext();

  TiledFrame &frame;
  KernelBuilder &b;
  TiledLinearOp op;
  WorkPartition partition;
  KeptTurn turn;
};
} // namespace

SmallVector<Value> Turns::multiply() {
  if (frame.geometry.isFma())
    return FmaLoop(frame).run(turn.getItem());
  return MainLoop(frame).run(turn.getItem());
}

void Turns::emit() {
  WorkItem first = partition.getItem(b.i32(0));
  TileCopy(frame).start(first, b.less(b.i32(0), partition.getCount()));
  turn.store(b.i32(0), first);
  emitTurns(frame, partition, turn, [&] { emitTurn(); });
}

void Turns::emitTurn() {
  frame.computePlace();
  emitPrefetch(frame, op, turn.getItem());
  SmallVector<Value> accumulators = multiply();
  // The next turn's first stages are on their way while this one ends.
  frame.computePlace();
  Value next = b.add(turn.getNumber(), 1);
  TileCopy(frame).start(partition.getItem(next),
                        b.less(next, partition.getCount()));
  emitTileEnd(frame, partition, turn, accumulators, [&](ValueRange sums) {
    emitTileEpilogue(frame, op, turn.getItem(), sums);
  });
  storeNext();
}

void Turns::storeNext() {
  frame.computePlace();
  Value next = b.add(turn.getNumber(), 1);
  turn.store(next, partition.getItem(next));
}

void Turns::emitGuarded() {
  frame.emitIf(emitHasRowsOutside(frame), [&] {
    turn.store(b.i32(0), partition.getItem(b.i32(0)));
    emitTurns(frame, partition, turn, [&] { emitGuardedTurn(); });
  });
}

/// Nothing is copied early: the next turn's tile may have to be kept.
void Turns::emitGuardedTurn() {
  frame.computePlace();
  WorkItem item = turn.getItem();
  frame.emitIf(emitHasRowsOutside(frame, item), [&] {
    TileCopy(frame).start(item, b.less(b.i32(0), item.kCount));
    SmallVector<Value> sums = multiply();
    frame.computePlace();
    emitTileEpilogue(frame, op, turn.getItem(), sums);
  });
  storeNext();
}

LLVM::LLVMFuncOp tenon::emitTiledKernel(gpu::GPUModuleOp module, StringRef name,
                                        TiledLinearOp op,
                                        const TileGeometry &geometry) {
  TiledFrame frame(module, name, op, geometry,
                   getTensorMaps(op, geometry).size());
  if (geometry.isWgmma())
    emitWarpSpecialized(frame, op);
  else if (op.isGuarded())
    Turns(frame, op).emitGuarded();
  else
    Turns(frame, op).emit();
  frame.close();
  return frame.getFunction();
}
