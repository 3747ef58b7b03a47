//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The epilogue of a wgmma kernel that reduces columns itself.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_SM90_RESIDENTEPILOGUE_H
#define TENON_LIB_CODEGEN_CUDA_SM90_RESIDENTEPILOGUE_H

#include "PanelExchange.h"
#include "TmaEpilogue.h"

namespace mlir::tenon {

/// Finishes tiles of a region with one reduction along M. What is reduced is
/// computed in the accumulators' registers, and reduced within the tile;
/// then the tiles of a column exchange their states, and the rest of the region
/// is computed through TMA. So what is stored is stored once.
class ResidentEpilogue {
public:
  /// Says why no kernel reduces the region of `op` so; "" if one does.
  static std::string findProblem(TiledLinearOp op);

  ResidentEpilogue(TiledFrame &frame, TiledLinearOp op, TmaEpilogue &tma);

  /// Finishes a turn. `accumulators` are as WarpgroupProduct gives them.
  void emit(const WorkItem &item, Value turn, ValueRange accumulators);
  /// After the last of `turns` turns.
  void finish(Value turns) { exchange.finish(turns); }

private:
  SmallVector<Value> computeReduced(const WorkItem &item,
                                    ValueRange accumulators);
  void computeBlock(const WorkItem &item, int64_t block,
                    MutableArrayRef<Value> elements);
  void storeWarpStates(const WorkItem &item, ValueRange elements);
  ReductionState combineWarps(const WorkItem &item, Value inTile);
  Value getWarpState(int64_t warp, Value inTile);
  Value getWarpState(Value warpgroup, Value warp, Value inTile);
  void finishColumn(const WorkItem &item, Value turn, Value inTile);
  void emitForColumns(llvm::function_ref<void(Value)> body);
  SmallVector<Value> loadColumnOperands(Value column);

  TiledFrame &frame;
  KernelBuilder &b;
  TiledLinearOp op;
  TmaEpilogue &tma;
  EpiloguePlan plan;
  ReductionEpilogueOp reduction;
  PanelExchange exchange;
  FinishedColumns finished;
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_SM90_RESIDENTEPILOGUE_H
