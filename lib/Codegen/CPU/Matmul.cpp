//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// --tenon-cpu-matmul: which products, and the extents of their blocks.
//
//===----------------------------------------------------------------------===//

#include "MatmulKernel.h"

namespace mlir::tenon {
#define GEN_PASS_DEF_TENONCPUMATMUL
#include "tenon/Codegen/CPU/Passes.h.inc"
} // namespace mlir::tenon

using namespace mlir;
using namespace mlir::tenon;

/// x[m,k] w[n,k] on buffers, N and K static, rows of all three contiguous.
static bool isProduct(linalg::MatmulOp op) {
  if (!op.hasPureBufferSemantics() || !linalg::MatmulTransposeBOp::classof(op))
    return false;
  for (Value operand : op->getOperands())
    if (!cast<MemRefType>(operand.getType()).isLastDimUnitStride())
      return false;
  auto y = cast<MemRefType>(op.getOutputs()[0].getType());
  return isa<FloatType>(y.getElementType()) &&
         cast<MemRefType>(op.getInputs()[1].getType()).hasStaticShape();
}

/// The register tile fills the registers (16, or 32 of 512 bits) but those for
/// two vectors of w and one of x. A packed block of w takes a quarter of a
/// 1 MiB second-level cache, one panel of it half of the first level.
static MatmulBlocks chooseBlocks(int64_t n, int64_t k, int64_t elementBits,
                                 unsigned vectorBits) {
  MatmulBlocks blocks;
  blocks.lanes = vectorBits / elementBits;
  blocks.rows = vectorBits == 512 ? 12 : 6;
  blocks.columns = 2 * blocks.lanes;
  blocks.depth = std::clamp<int64_t>(k, 1, 256);
  blocks.packedRows = 96;
  blocks.packedColumns = std::min<int64_t>(
      llvm::alignTo(std::max<int64_t>(n, 1), blocks.columns), 256);
  blocks.taskRows = 6 * blocks.packedRows;
  return blocks;
}

static void lowerProduct(linalg::MatmulOp op, OpBuilder &builder,
                         unsigned vectorBits) {
  Value x = op.getInputs()[0], w = op.getInputs()[1], y = op.getOutputs()[0];
  auto wType = cast<MemRefType>(w.getType());
  MatmulBlocks blocks = chooseBlocks(
      wType.getDimSize(0), wType.getDimSize(1),
      cast<MemRefType>(y.getType()).getElementTypeBitWidth(), vectorBits);
  LoopNest nest{builder, op.getLoc()};
  SmallVector<Value> counts{
      nest.ceilDiv(nest.dim(y, 0), blocks.taskRows),
      nest.ceilDiv(nest.index(wType.getDimSize(0)), blocks.packedColumns)};
  nest.parallel(counts, [&](ValueRange tile) {
    MatmulKernel(builder, op.getLoc(), x, w, y, blocks)
        .emitTask(tile[0], tile[1]);
  });
}

namespace {
struct CPUMatmulPass : tenon::impl::TenonCPUMatmulBase<CPUMatmulPass> {
  using TenonCPUMatmulBase::TenonCPUMatmulBase;

  void runOnOperation() override {
    SmallVector<linalg::MatmulOp> ops;
    getOperation()->walk([&](linalg::MatmulOp op) {
      if (isProduct(op))
        ops.push_back(op);
    });
    for (linalg::MatmulOp op : ops) {
      OpBuilder builder(op);
      lowerProduct(op, builder, vectorBits);
      op.erase();
    }
  }
};
} // namespace
