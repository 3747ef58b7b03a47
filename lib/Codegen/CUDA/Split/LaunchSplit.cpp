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

#include "LaunchSplit.h"

#include "Codegen/CUDA/Emit/Constants.h"
#include "Codegen/CUDA/Emit/ElementEmitter.h"
#include "Codegen/CUDA/Emit/HostValues.h"
#include "SplitKernel.h"
#include "SplitPanelKernel.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

#include <limits>
#include <numeric>

using namespace mlir;
using namespace mlir::tenon;

/// Of a grid, along x.
static constexpr int64_t kMaxBlocks = std::numeric_limits<int32_t>::max();

/// As many as a large GPU has multiprocessors.
static constexpr int64_t kWantedPanels = 128;

SplitGeometry SplitGeometry::get(SplitOp op, unsigned lanes) {
  SplitGeometry geometry{op.getK(), op.getParts(), lanes, /*warps=*/1};
  // Two blocks of 16 warps fit a multiprocessor, so that one can read while the
  // other writes.
  while (geometry.warps != 16 && geometry.columns() > geometry.stepColumns())
    geometry.warps *= 2;
  return geometry;
}

SplitPanelGeometry SplitPanelGeometry::get(SplitOp op, unsigned lanes) {
  SplitPanelGeometry geometry{op.getM(), op.getK(), op.getParts(), lanes,
                              /*width=*/32};
  // A row of 8 columns still fills a sector of memory.
  while (geometry.width != 8 && geometry.panels() < kWantedPanels)
    geometry.width /= 2;
  return geometry;
}

namespace {
/// Replaces one split by launches; adds its kernels to `module`.
class SplitLowering {
public:
  SplitLowering(SplitOp op, gpu::GPUModuleOp module,
                SmallVectorImpl<Attribute> &kernels)
      : op(op), module(module), kernels(kernels), b(op.getLoc(), op) {}

  void run();
  void runTransposed();

private:
  std::string makeName(StringRef kind, unsigned lanes);
  void launch(Value m, unsigned lanes);
  void launchPanels(unsigned lanes);
  void launch(LLVM::LLVMFuncOp kernel, Value m, Value blocks, int64_t threads);

  SplitOp op;
  gpu::GPUModuleOp module;
  SmallVectorImpl<Attribute> &kernels;
  ImplicitLocOpBuilder b;
};
} // namespace

std::string SplitLowering::makeName(StringRef kind, unsigned lanes) {
  auto function = op->getParentOfType<FunctionOpInterface>();
  std::string name =
      makeKernelName(module, (function.getName() + kind + Twine(lanes)).str());
  kernels.push_back(b.getStringAttr(name));
  return name;
}

void SplitLowering::launch(LLVM::LLVMFuncOp kernel, Value m, Value blocks,
                           int64_t threads) {
  SmallVector<Value> arguments = llvm::to_vector(op->getOperands());
  arguments.append({m, blocks});
  createLaunch(b, kernel, blocks, threads, /*shared=*/Value(), arguments);
}

void SplitLowering::launch(Value m, unsigned lanes) {
  SplitGeometry geometry = SplitGeometry::get(op, lanes);
  LLVM::LLVMFuncOp kernel = emitSplitKernel(module, makeName("_split_v", lanes),
                                            op.getLoc(), geometry);
  Value groups = arith::MinSIOp::create(
      b, emitCeilDiv(b, m, createI64(b, geometry.rows())),
      createI64(b, kMaxBlocks));
  launch(kernel, m, groups, geometry.threads());
}

void SplitLowering::launchPanels(unsigned lanes) {
  SplitPanelGeometry geometry = SplitPanelGeometry::get(op, lanes);
  LLVM::LLVMFuncOp kernel = emitSplitPanelKernel(
      module, makeName("_split_panels_v", lanes), op.getLoc(), geometry);
  launch(kernel, createI64(b, geometry.m), createI64(b, geometry.panels()),
         geometry.threads());
}

void SplitLowering::run() {
  Value m = createRowCount(b, op.getX());
  unsigned lanes = std::gcd<int64_t>(op.getK(), 4);
  if (lanes == 1)
    return launch(m, 1);
  // Factors are stored one by one.
  emitIfAligned(
      b, {op.getX(), op.getHalves()}, [&] { launch(m, lanes); },
      [&] { launch(m, 1); });
}

/// x is read one by one, too.
void SplitLowering::runTransposed() {
  emitIfAligned(
      b, op.getHalves(), [&] { launchPanels(2); }, [&] { launchPanels(1); });
}

LogicalResult tenon::lowerSplit(SplitOp op, gpu::GPUModuleOp module,
                                SmallVectorImpl<Attribute> &kernels) {
  if (failed(checkBuffers(op)))
    return failure();
  SplitLowering lowering(op, module, kernels);
  if (op.getTransposed())
    lowering.runTransposed();
  else
    lowering.run();
  op.erase();
  return success();
}
