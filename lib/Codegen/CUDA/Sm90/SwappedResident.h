//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The epilogue of a wgmma kernel that reduces columns, with swapped operands.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_SM90_SWAPPEDRESIDENT_H
#define TENON_LIB_CODEGEN_CUDA_SM90_SWAPPEDRESIDENT_H

#include "../Tiled/ResidentReduction.h"
#include "SwappedEpilogue.h"

namespace mlir::tenon {

/// Finishes tiles of a region with one reduction along M. A warp has its
/// columns to itself, so its threads reduce, exchange and finish them, and no
/// warp waits for another.
class SwappedResident : public ResidentReduction {
public:
  SwappedResident(TiledFrame &frame, TiledLinearOp op,
                  SwappedEpilogue &swapped);

  /// Finishes a turn. `accumulators` are as WarpgroupProduct gives them.
  void emit(const WorkItem &item, Value turn, Value turns,
            ValueRange accumulators);
  /// After the last of `turns` turns, in a warp that does not multiply.
  void clear(Value turns) { exchange.clear(turns); }

private:
  SmallVector<Value> computeReduced(const WorkItem &item,
                                    ValueRange accumulators);
  void exchangeStates(const WorkItem &item, Value turn,
                      ArrayRef<ReductionState> states);

  SwappedEpilogue &swapped;
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_SM90_SWAPPEDRESIDENT_H
