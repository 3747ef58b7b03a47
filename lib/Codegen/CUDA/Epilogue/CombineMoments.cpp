//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Moments of many tiles are combined to a few by a kernel of their own.
//
//===----------------------------------------------------------------------===//

#include "CombineMoments.h"
#include "Codegen/CUDA/Emit/Constants.h"
#include "MapKernel.h"
#include "SharedStates.h"
#include "StateWalk.h"

#include <numeric>

using namespace mlir;
using namespace mlir::tenon;

bool tenon::combinesMoments(ReductionEpilogueOp reduction) {
  if (!EpiloguePlan::getMoments(reduction) ||
      addsSumsAlone(cast<EpilogueOp>(reduction->getParentOp())))
    return false;
  int64_t m = cast<RankedTensorType>(reduction.getReducedInput().getType())
                  .getDimSize(0);
  return ShapedType::isDynamic(m) ||
         llvm::divideCeil(m, EpiloguePlan::getMomentRows(reduction)) >
             kMaxHeadStates;
}

/// How many moments `m` rows have.
static Value emitNumMoments(ImplicitLocOpBuilder &b,
                            ReductionEpilogueOp reduction, Value m) {
  return emitCeilDiv(b, m,
                     createI64(b, EpiloguePlan::getMomentRows(reduction)));
}

/// Moments that are combined to one state; 1 where there are none.
static Value emitMomentsPerState(ImplicitLocOpBuilder &b,
                                 ReductionEpilogueOp reduction, Value m) {
  Value each = emitCeilDiv(b, emitNumMoments(b, reduction, m),
                           createI64(b, kCombinedStates));
  return arith::MaxSIOp::create(b, each, createI64(b, 1));
}

Value tenon::emitCombinedRows(ImplicitLocOpBuilder &b,
                              ReductionEpilogueOp reduction, Value m) {
  return arith::MulIOp::create(
      b, emitMomentsPerState(b, reduction, m),
      createI64(b, EpiloguePlan::getMomentRows(reduction)));
}

KernelGeometry tenon::getCombineGeometry(int64_t n) {
  auto lanes = static_cast<unsigned>(std::gcd<int64_t>(n, 4));
  return {n, lanes, /*threadsX=*/16, /*threadsY=*/32, /*rows=*/1};
}

/// Group g of blocks combines the g-th part of the moments, its rows of threads
/// in turn. With fewer parts than groups, the last states are empty.
LLVM::LLVMFuncOp tenon::emitCombineKernel(gpu::GPUModuleOp module,
                                          StringRef name,
                                          ReductionEpilogueOp reduction,
                                          const KernelGeometry &geometry) {
  EpiloguePhase phase;
  phase.reduction = reduction;
  KernelFrame frame(module, name, reduction.getLoc(), geometry, phase,
                    /*numOutputs=*/1);
  KernelBuilder &b = frame.b;
  Value count = emitNumMoments(b, reduction, frame.m);
  Value each = emitMomentsPerState(b, reduction, frame.m);
  Value begin = b.mul(frame.group, each);
  Value end = arith::MinSIOp::create(b, b.add(begin, each), count);
  StateBuffer moments{frame.outputs[0],
                      b.i64(EpiloguePlan::getMomentRows(reduction))};
  StateWalk walk{frame,
                 reduction,
                 moments,
                 frame.column,
                 geometry.lanes,
                 begin,
                 end,
                 b.toI64Signed(frame.threadY),
                 geometry.threadsY};
  walk.reloadsOrigins = false;
  SmallVector<Value> walked = walk.emit();
  storeGroupState(frame, reduction, walked,
                  [&](ArrayRef<Value> moved) { return walk.getStored(moved); });
  frame.close();
  return frame.getFunction();
}
