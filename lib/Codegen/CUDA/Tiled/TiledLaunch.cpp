//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels of one tiled layer, and their launches.
//
//===----------------------------------------------------------------------===//

#include "TiledLaunch.h"

#include "Codegen/CUDA/Emit/Constants.h"
#include "Codegen/CUDA/Emit/ElementEmitter.h"
#include "Codegen/CUDA/Emit/HostValues.h"
#include "TiledFamily.h"
#include "TiledFrame.h"

#include "tenon/Schedule/Checks/Schedule.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mlir::tenon;

/// K tiles that a block computes at least where tiles are divided: fewer are
/// not worth a block's start.
static constexpr int64_t kMinKTiles = 4;

/// The product's rows. An x that is [K, M] has a static shape.
Value TiledLaunch::createRows() {
  return isXTransposed(op.getLayout()) ? createI64(b, op.getExtents().m)
                                       : createRowCount(b, op.getX());
}

/// How many blocks have something to do, of a product with so many column
/// units.
Value TiledLaunch::createWork(const TileGeometry &geometry,
                              int64_t columnUnits) {
  Value tiles = arith::MulIOp::create(
      b, emitCeilDiv(b, m, createI64(b, geometry.unitM())),
      createI64(b, columnUnits * geometry.clusterBlocks()));
  int64_t parts = 1;
  if (geometry.schedule.getStreamK())
    parts = std::max<int64_t>(1, geometry.kTiles() / kMinKTiles);
  Value work = arith::MulIOp::create(b, tiles, createI64(b, parts));
  if (!ShapedType::isDynamic(geometry.m))
    return work;
  // Static extents are limited where tiled is chosen. The runtime refuses a
  // negative grid.
  Value fits = arith::CmpIOp::create(b, arith::CmpIPredicate::sle, m,
                                     createI64(b, kMaxExtent));
  return arith::SelectOp::create(b, fits, work, createI64(b, -1));
}

LLVM::LLVMFuncOp TiledLaunch::emitKernel(const TileGeometry &geometry) {
  auto function = op->getParentOfType<FunctionOpInterface>();
  StringRef guard = op.isGuarded() ? "_guard" : "";
  StringRef kind = geometry.isAligned ? "" : "_unaligned";
  std::string name = makeKernelName(
      module, (function.getName() + "_tiled" + guard + kind).str());
  kernels.push_back(b.getStringAttr(name));
  const TiledFamily &family = *geometry.family;
  TiledFrame frame(module, name, op, geometry,
                   family.getTensorMaps(op, geometry).size());
  frame.rowPhases = rowPhases;
  family.emitKernel(frame, op);
  frame.close();
  return frame.getFunction();
}

KernelArguments TiledLaunch::getArguments(const TileGeometry &geometry) {
  KernelArguments arguments;
  for (const TensorMapUse &use : geometry.family->getTensorMaps(op, geometry)) {
    arguments.mapped.push_back(use.matrix);
    arguments.maps.push_back(use.map);
  }
  llvm::append_range(arguments.pointers, op.getOperands());
  arguments.m = m;
  arguments.token = createI64(b, 0);
  return arguments;
}

LaunchOp TiledLaunch::createLaunch(const TileGeometry &geometry,
                                   LLVM::LLVMFuncOp kernel, Value work,
                                   const KernelArguments &arguments) {
  Value shared = createI32(b, getSharedBytes(geometry.schedule));
  LaunchOp launch = tenon::createLaunch(
      b, kernel, work, geometry.blockThreads(), shared, arguments.getAll());
  if (!arguments.maps.empty()) {
    launch.setTensorMapsAttr(b.getArrayAttr(arguments.maps));
    launch.setWaitsItself(true);
  }
  return launch;
}

void TiledLaunch::launch(const TileGeometry &geometry,
                         LLVM::LLVMFuncOp kernel) {
  KernelArguments arguments = getArguments(geometry);
  Value work = createWork(geometry, geometry.columnUnits());
  LaunchOp launch = createLaunch(geometry, kernel, work, arguments);
  launch.setPersistent(getMaxBlocks(geometry.schedule));
  if (geometry.isResident()) {
    // With a dynamic M the function has compared them.
    int64_t rowUnits =
        ShapedType::isDynamic(geometry.m) ? 1 : geometry.rowUnits();
    launch.setResident(rowUnits * geometry.clusterBlocks());
  }
  if (geometry.exchangesRows())
    launch.setResident(geometry.teamUnits() * geometry.clusterBlocks());
  if (!arguments.maps.empty() && geometry.clusterBlocks() != 1)
    launch.setCluster(geometry.clusterBlocks());
}
