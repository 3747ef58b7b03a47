//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Adds the states of all groups, each element by eight threads in turn.
//
//===----------------------------------------------------------------------===//

#include "AddStatesKernel.h"

#include "Codegen/CUDA/Emit/KernelFunction.h"
#include "MomentsFrame.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::tenon;

static constexpr int64_t kParts = MomentsGeometry::kParts;
/// States that a thread loads at once, at most.
static constexpr int64_t kMaxLoads = 8;

/// The sum of an element over every kParts'th state from `part` on.
static Value emitPart(MomentsFrame &frame, Value element, Value part) {
  KernelBuilder &b = frame.b;
  int64_t loads = std::min<int64_t>(
      kMaxLoads, llvm::divideCeil(frame.g.maxGroups(), kParts));
  auto loop = scf::ForOp::create(
      b, b.toI64(part), frame.groups, b.i64(kParts * loads),
      ValueRange(frame.real(0)),
      [&](OpBuilder &, Location, Value first, ValueRange carried) {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToEnd(first.getParentBlock());
        SmallVector<Value> loaded;
        for (int64_t i = 0; i != loads; ++i) {
          Value state = b.add(first, i * kParts);
          Value clamped = b.minSigned(state, b.sub(frame.groups, 1));
          Value index =
              b.add(b.mul(clamped, frame.g.stateElements()), b.toI64(element));
          loaded.push_back(b.select(b.less(state, frame.groups),
                                    frame.load(frame.pointers[0], index),
                                    frame.real(0)));
        }
        Value sum = carried[0];
        for (Value value : loaded)
          sum = frame.add(sum, value);
        scf::YieldOp::create(b, sum);
      });
  return loop.getResult(0);
}

LLVM::LLVMFuncOp tenon::emitAddStatesKernel(gpu::GPUModuleOp module,
                                            StringRef name, Location loc,
                                            const MomentsGeometry &geometry) {
  constexpr int64_t kElements = MomentsGeometry::kElements;
  MomentsFrame frame(module, name, loc, geometry, /*numPointers=*/2,
                     kElements * kParts);
  KernelBuilder &b = frame.b;
  Value shared = frame.allocateShared("_parts", kElements * kParts);
  // A warp has a part.
  Value element = b.add(b.mul(frame.block, kElements), frame.lane);
  frame.store(emitPart(frame, element, frame.warp), shared, frame.thread);
  NVVM::Barrier0Op::create(b);
  emitIf(b, b.equal(frame.warp, 0), [&] {
    Value sum = frame.load(shared, frame.lane);
    for (int64_t part = 1; part != kParts; ++part)
      sum = frame.add(sum,
                      frame.load(shared, b.add(frame.lane, part * kElements)));
    frame.store(sum, frame.pointers[1], element);
  });
  LLVM::ReturnOp::create(b, ValueRange());
  return frame.function;
}
