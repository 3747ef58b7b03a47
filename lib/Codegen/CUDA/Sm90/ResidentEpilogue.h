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

#include "AffineInput.h"
#include "PanelExchange.h"
#include "TmaEpilogue.h"

namespace mlir::tenon {

/// Finishes tiles of a region with one reduction along M. What is reduced is
/// computed in the accumulators' registers, and reduced within the tile;
/// then the tiles of a column exchange their states, and the rest of the region
/// is computed through TMA. So what is stored is stored once.
///
/// Between main loop and epilogue nothing else hides what a load takes. So
/// operands of one value a column come to L2 during the main loop. Those that
/// what is reduced depends on are then staged in shared memory, once for each
/// warpgroup: beside the accumulators a thread has few registers for loads that
/// are in flight together.
class ResidentEpilogue {
public:
  /// Says why no kernel reduces the region of `op` so; "" if one does.
  static std::string findProblem(TiledLinearOp op);

  ResidentEpilogue(TiledFrame &frame, TiledLinearOp op, TmaEpilogue &tma);

  /// Before a turn's main loop: has operands come to L2.
  void prefetch(const WorkItem &item);
  /// When the turn's last products have been started: starts loads.
  void prepare(const WorkItem &item);
  /// Finishes a turn. `accumulators` are as WarpgroupProduct gives them.
  void emit(const WorkItem &item, Value turn, Value turns,
            ValueRange accumulators);
  /// After the last of `turns` turns, in a warp that does not multiply.
  void clear(Value turns) { exchange.clear(turns); }

private:
  static constexpr int64_t kWarps = 4; ///< of a warpgroup

  Value getWarpgroupMemory(Value warpgroup);
  void chooseStaged();
  Value getStaged(size_t operand, Value inTile);
  void storeStaged();
  void setStaged(ElementEmitter &emitter, int64_t block);
  SmallVector<Value> computeReduced(const WorkItem &item,
                                    ValueRange accumulators);
  int64_t getBlocksAhead();
  std::unique_ptr<ElementEmitter> loadBlock(const WorkItem &item,
                                            int64_t number);
  void storeWarpStates(const WorkItem &item, ValueRange elements);
  ReductionState combineWarps(const WorkItem &item, Value inTile);
  Value getWarpState(Value warpgroup, Value warp, Value inTile);
  Value getOrigins(Value warpgroup, Value warp);
  int64_t getBytesOfStates() const;
  void finishColumn(const WorkItem &item, Value turn, Value inTile);
  void storeResults(Value column, const ReductionState &state,
                    ArrayRef<Value> operands);
  void emitForColumns(llvm::function_ref<void(Value)> body);
  SmallVector<Value> loadColumnOperands(Value column);

  TiledFrame &frame;
  KernelBuilder &b;
  TiledLinearOp op;
  TmaEpilogue &tma;
  EpiloguePlan plan;
  ReductionEpilogueOp reduction;
  std::optional<AffineInput> affine; ///< then products are reduced themselves
  PanelExchange exchange;
  FinishedColumns finished;
  SmallVector<BlockArgument> staged; ///< operands
  SmallVector<Value> loaded; ///< the thread's columns of the first, the next...
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_SM90_RESIDENTEPILOGUE_H
