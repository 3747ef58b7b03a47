//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_MMASYNC_MMASYNCTURNS_H
#define TENON_LIB_CODEGEN_CUDA_TILED_MMASYNC_MMASYNCTURNS_H

#include "Codegen/CUDA/Tiled/RowReductions.h"
#include "Codegen/CUDA/Tiled/TileEnd.h"
#include "ResidentTile.h"

namespace mlir::tenon {

/// A block's turns.
class MmaSyncTurns {
public:
  MmaSyncTurns(TiledFrame &frame, TiledLinearOp op)
      : frame(frame), b(frame.b), op(op), partition(frame),
        turn(frame, partition) {
    if (frame.geometry.isResident())
      resident.emplace(frame, op);
    if (reducesRows(frame.geometry.schedule))
      rows.emplace(frame, op);
    if (op.isGuarded() && frame.geometry.exchangesRows())
      exchanged = frame.keep();
  }

  /// Those that are this kernel's to do.
  void emitOwn();

private:
  void emit();
  SmallVector<Value> multiply();
  void emitTurn();
  Value getExchange();
  void finishTile(ValueRange accumulators);
  void endExchanges();
  void emitGuarded();
  void emitGuardedTurn();
  void storeNext();

  TiledFrame &frame;
  KernelBuilder &b;
  TiledLinearOp op;
  WorkPartition partition;
  KeptTurn turn;
  /// In a guard whose tiles wait for each other: turns so far that had a row
  /// outside. States of turns lie side by side, so they count those alone.
  std::optional<KeptScalar> exchanged;
  std::optional<ResidentTile> resident; ///< if the region reduces along M
  std::optional<RowReductions> rows;    ///< if it does along N
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_MMASYNC_MMASYNCTURNS_H
