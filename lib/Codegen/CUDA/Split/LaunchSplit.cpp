//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The host's part of a split: how threads cover its rows, and its launch.
//
//===----------------------------------------------------------------------===//

#include "Codegen/CUDA/Emit/Constants.h"
#include "Codegen/CUDA/Emit/ElementEmitter.h"
#include "Codegen/CUDA/Emit/HostValues.h"
#include "SplitKernel.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

#include <limits>
#include <numeric>

using namespace mlir;
using namespace mlir::tenon;

/// Of a grid, along x.
static constexpr int64_t kMaxBlocks = std::numeric_limits<int32_t>::max();

SplitGeometry SplitGeometry::get(SplitOp op, unsigned lanes) {
  int64_t k = cast<MemRefType>(op.getX().getType()).getDimSize(1);
  SplitGeometry geometry{k, op.getParts(), lanes, /*warps=*/1};
  // Two blocks of 16 warps fit a multiprocessor, so that one can read while the
  // other writes.
  while (geometry.warps != 16 && geometry.columns() > geometry.stepColumns())
    geometry.warps *= 2;
  return geometry;
}

static void launch(ImplicitLocOpBuilder &b, SplitOp op, Value m, unsigned lanes,
                   gpu::GPUModuleOp module,
                   SmallVectorImpl<Attribute> &kernels) {
  SplitGeometry geometry = SplitGeometry::get(op, lanes);
  auto function = op->getParentOfType<FunctionOpInterface>();
  std::string name = makeKernelName(
      module, (function.getName() + "_split_v" + Twine(lanes)).str());
  LLVM::LLVMFuncOp kernel =
      emitSplitKernel(module, name, op.getLoc(), geometry);
  kernels.push_back(b.getStringAttr(name));
  Value groups = arith::MinSIOp::create(
      b, emitCeilDiv(b, m, createI64(b, geometry.rows())),
      createI64(b, kMaxBlocks));
  SmallVector<Value> arguments = llvm::to_vector(op->getOperands());
  arguments.append({m, groups});
  createLaunch(b, kernel, groups, geometry.threads(), /*shared=*/Value(),
               arguments);
}

LogicalResult tenon::lowerSplit(SplitOp op, gpu::GPUModuleOp module,
                                SmallVectorImpl<Attribute> &kernels) {
  if (failed(checkBuffers(op)))
    return failure();
  ImplicitLocOpBuilder b(op.getLoc(), op);
  Value m = createRowCount(b, op.getX());
  auto x = cast<MemRefType>(op.getX().getType());
  unsigned lanes = std::gcd<int64_t>(x.getDimSize(1), 4);
  if (lanes == 1) {
    launch(b, op, m, 1, module, kernels);
  } else {
    // Factors are stored one by one.
    emitIfAligned(
        b, {op.getX(), op.getHalves()},
        [&] { launch(b, op, m, lanes, module, kernels); },
        [&] { launch(b, op, m, 1, module, kernels); });
  }
  op.erase();
  return success();
}
