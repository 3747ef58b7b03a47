//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A warp that ends the reductions of a panel, beside those that multiply.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_PANELFINISHER_H
#define TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_PANELFINISHER_H

#include "Codegen/CUDA/Tiled/ResidentReduction.h"

namespace mlir::tenon {

/// Each turn the finishers of a panel's blocks divide its columns among them.
/// Each combines the states of its columns and publishes what comes of them;
/// then it fetches what all have published to its block's table. The warps
/// that multiply store states, and wait for the table a turn later
/// (DeferredTurns.h).
class PanelFinisher : public ResidentReduction {
public:
  PanelFinisher(TiledFrame &frame, TiledLinearOp op)
      : ResidentReduction(frame, op, /*hasFinisher=*/true) {}

  /// One thread of the block does, before the warp begins.
  void initialize();
  /// All turns; then clears the workspace.
  void emit(WorkPartition &partition);

private:
  void emitTurn(WorkPartition &partition, Value turn);
  void finishOwnColumns(const WorkItem &item, Value turn);
  void fetchTable(Value turn);
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_PANELFINISHER_H
