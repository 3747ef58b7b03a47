//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The host's part of a tiled layer: its launch.
//
//===----------------------------------------------------------------------===//

#include "LaunchTiled.h"

#include "Codegen/CUDA/Emit/Constants.h"
#include "Codegen/CUDA/Emit/ElementEmitter.h"
#include "Codegen/CUDA/Emit/HostValues.h"
#include "Codegen/CUDA/Epilogue/LaunchEpilogue.h"
#include "OutputBuffer.h"
#include "ResidentProblem.h"
#include "ResidentReduction.h"
#include "SeparateProducts.h"
#include "SeparateReduction.h"
#include "TiledFamily.h"
#include "TiledFrame.h"
#include "TiledLaunch.h"
#include "Unscale.h"

#include "tenon/Schedule/Checks/ReductionMethod.h"
#include "tenon/Schedule/Checks/Schedule.h"
#include "tenon/Schedule/MmaSync/MmaSyncSchedule.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mlir::tenon;

namespace {
/// Replaces one layer by launches; adds its kernels to `module`.
class TiledLowering : TiledLaunch {
public:
  using TiledLaunch::TiledLaunch;

  LogicalResult run();
  /// For several weights or terms, before the scale of split rows is taken out.
  void runProducts();
  /// Where rows are reduced alone, before they are cut and the scale of split
  /// rows is taken out.
  LogicalResult runRows();
  void runUnaligned();

private:
  LogicalResult runResident(const TileGeometry &geometry);
  LogicalResult runResidentIfItFits(const TileGeometry &geometry);
  Value createFits(const TileGeometry &geometry, LLVM::LLVMFuncOp kernel);
  void emitAndLaunch(const TileGeometry &geometry) {
    launch(geometry, emitKernel(geometry));
  }
  Value createBuffer(MemRefType type);
};
} // namespace

/// A matrix with the product's rows that several kernels write and read: an
/// output, where one can hold it.
Value TiledLowering::createBuffer(MemRefType type) {
  if (Value output = findOutputBuffer(op, type))
    return output;
  SmallVector<Value> extents;
  if (type.isDynamicDim(0))
    extents.push_back(arith::IndexCastOp::create(b, b.getIndexType(), m));
  return createTemporary(b, type, extents);
}

/// Small tiles, for a kernel that may take its operands element by element: it
/// keeps more in registers, and is short to compile. Of 8 bits it makes f16.
/// Where the region yields moments, tiles have their rows, and where tiles wait
/// for each other, there are no more of them. Where it reduces rows, tiles have
/// whole ones, or the same parts.
static ScheduleAttr getUnalignedSchedule(TiledLinearOp op) {
  ScheduleAttr schedule = op.getSchedule();
  int64_t rows = 64;
  for (MomentsOp moments : op.getBody()->getOps<MomentsOp>())
    rows = moments.getRows();
  bool isResident = schedule.getReduction() == ReductionMethod::Resident;
  if (isResident)
    rows = schedule.getTile()[0];
  bool isNarrow = schedule.getMethod() == ProductMethod::FP8;
  int64_t columns = schedule.getTile()[2] / (isNarrow ? 2 : 1); // as f16
  ScheduleParameters parameters{.family = KernelFamily::MmaSync,
                                .tile = {rows, kNarrowTileColumns, columns},
                                .warps = getNarrowTileWarps(rows),
                                .stages = 3,
                                .swizzle = schedule.getSwizzle(),
                                .raster = schedule.getRaster(),
                                .blocks = rows <= 64 && !isResident ? 2 : 1,
                                .method = isNarrow ? ProductMethod::Direct
                                                   : schedule.getMethod(),
                                .reduction = schedule.getReduction()};
  if (reducesRows(schedule)) {
    int64_t n = op.getProductShape()[1];
    int64_t groups = getRowGroups(*op.getBody());
    widenToRows(parameters, getColumnsBeside(schedule, n, n / groups),
                groups != 1);
  }
  return ScheduleAttr::get(schedule.getContext(), parameters);
}

void TiledLowering::runUnaligned() {
  m = createRows();
  emitAndLaunch(
      TileGeometry(op, getUnalignedSchedule(op), /*isAligned=*/false));
  op.erase();
}

/// Of a kernel whose row tiles may be more than those of the one for other
/// pointers, which is of mma_sync, could be. So where pointers are not aligned,
/// other kernels reduce and finish what the product's leaves.
LogicalResult TiledLowering::runResident(const TileGeometry &geometry) {
  Value buffer = createBuffer(getReducedType(op));
  SeparateReduction separate;
  emitIfAligned(
      b, op.getOperands(), [&] { emitAndLaunch(geometry); },
      [&] {
        separate = createSeparateReduction(b, op, buffer, /*moments=*/{});
      });
  op.erase();
  TiledLowering(separate.product, module, kernels).runUnaligned();
  return lowerEpilogue(separate.rest, module, kernels);
}

static bool reducesGroupsInTile(TiledLinearOp op) {
  return op.getSchedule().getReduction() == ReductionMethod::InTile &&
         getRowGroups(*op.getBody()) > 1;
}

/// Whether rows, or groups, are reduced as no kernel for other pointers does,
/// but one behind a product's. A guard's tiles are those of such a kernel.
static bool reducesAlone(TiledLinearOp op) {
  ScheduleAttr schedule = op.getSchedule();
  if (schedule.getReduction() == ReductionMethod::ResidentRows)
    return !op.isGuarded();
  int64_t n = op.getProductShape()[1];
  return reducesGroupsInTile(op) &&
         getColumnsBeside(schedule, n, n / getRowGroups(*op.getBody())) == 0;
}

static RowPhases cutRows(TiledLinearOp op) {
  if (op.getSchedule().getReduction() == ReductionMethod::ResidentRows)
    return cutAtRowReductions(*op.getBody(), SourceMoves::Independent);
  bool ofGroups = reducesGroupsInTile(op);
  RowPhases phases = cutAtRowReductions(*op.getBody(), SourceMoves::All);
  if (ofGroups)
    takeYielded(*op.getBody(), phases);
  return phases;
}

/// For other pointers a kernel reduces rows of the product's.
LogicalResult TiledLowering::runRows() {
  m = createRows();
  Value buffer = createBuffer(getReducedType(op));
  auto branch = scf::IfOp::create(b, createIsAligned(b, op.getOperands()),
                                  /*withElseRegion=*/true);
  b.setInsertionPointToStart(branch.elseBlock());
  SeparateReduction separate =
      createSeparateReduction(b, op, buffer, /*moments=*/{});
  b.setInsertionPointToStart(branch.thenBlock());
  addUnscale(op);
  addUnscale(separate.product);
  RowPhases phases = cutRows(op);
  rowPhases = phases;
  emitAndLaunch(TileGeometry(op, op.getSchedule(), /*isAligned=*/true));
  op.erase();
  TiledLowering(separate.product, module, kernels).runUnaligned();
  return lowerEpilogue(separate.rest, module, kernels);
}

/// Kernels for other pointers have one product each.
void TiledLowering::runProducts() {
  m = createRows();
  Value buffer = createBuffer(getFurtherProductType(op));
  auto branch = scf::IfOp::create(b, createIsAligned(b, op.getOperands()),
                                  /*withElseRegion=*/true);
  b.setInsertionPointToStart(branch.elseBlock());
  SmallVector<TiledLinearOp> separate = createSeparateProducts(b, op, buffer);
  b.setInsertionPointToStart(branch.thenBlock());
  addUnscale(op);
  emitAndLaunch(TileGeometry(op, op.getSchedule(), /*isAligned=*/true));
  op.erase();
  for (TiledLinearOp one : separate) {
    addUnscale(one);
    TiledLowering(one, module, kernels).runUnaligned();
  }
}

/// Whether there are rows, and all row tiles of a column are resident together.
Value TiledLowering::createFits(const TileGeometry &geometry,
                                LLVM::LLVMFuncOp kernel) {
  Value resident = ResidentBlocksOp::create(
      b, b.getI64Type(),
      SymbolRefAttr::get(module.getNameAttr(),
                         {FlatSymbolRefAttr::get(kernel.getNameAttr())}),
      geometry.blockThreads(), getSharedBytes(geometry.schedule),
      geometry.clusterBlocks());
  resident = arith::MinSIOp::create(
      b, resident, createI64(b, getMaxBlocks(geometry.schedule)));
  Value needed = arith::MulIOp::create(
      b, emitCeilDiv(b, m, createI64(b, geometry.unitM())),
      createI64(b, geometry.clusterBlocks()));
  Value fits =
      arith::CmpIOp::create(b, arith::CmpIPredicate::sle, needed, resident);
  Value hasRows =
      arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, m, createI64(b, 0));
  return arith::AndIOp::create(b, fits, hasRows);
}

/// The same where M is dynamic: what does not fit is reduced in two phases.
LogicalResult TiledLowering::runResidentIfItFits(const TileGeometry &geometry) {
  Value buffer = createBuffer(getReducedType(op));
  MemRefType momentsType = getMomentsType(op);
  auto reduced = EpilogueOp::getTensorType(buffer.getType());
  Value blocks =
      emitCeilDiv(b, m, createI64(b, op.getSchedule().getMomentRows()));
  blocks = arith::MulIOp::create(
      b, blocks,
      createI64(b, MomentsOp::getNumScalars(reduced.getElementType(),
                                            /*sums=*/false)));
  Value moments = createTemporary(
      b, momentsType,
      ValueRange{arith::IndexCastOp::create(b, b.getIndexType(), blocks)});
  LLVM::LLVMFuncOp kernel = emitKernel(geometry);
  Value isPossible = arith::AndIOp::create(
      b, createIsAligned(b, op.getOperands()), createFits(geometry, kernel));
  auto branch = scf::IfOp::create(b, isPossible, /*withElseRegion=*/true);
  b.setInsertionPointToStart(branch.thenBlock());
  launch(geometry, kernel);
  b.setInsertionPointToStart(branch.elseBlock());
  SeparateReduction separate = createSeparateReduction(b, op, buffer, moments);
  op.erase();
  if (failed(TiledLowering(separate.product, module, kernels).run()))
    return failure();
  return lowerEpilogue(separate.rest, module, kernels);
}

LogicalResult TiledLowering::run() {
  m = createRows();
  TileGeometry aligned(op, op.getSchedule(), /*isAligned=*/true);
  TileGeometry unaligned(op, getUnalignedSchedule(op), /*isAligned=*/false);
  if (aligned.isResident() && aligned.family != unaligned.family)
    return ShapedType::isDynamic(aligned.m) ? runResidentIfItFits(aligned)
                                            : runResident(aligned);
  if (aligned.copyBytes == unaligned.copyBytes && aligned.lanes == 1) {
    emitAndLaunch(unaligned);
    op.erase();
    return success();
  }
  emitIfAligned(
      b, op.getOperands(), [&] { emitAndLaunch(aligned); },
      [&] { emitAndLaunch(unaligned); });
  op.erase();
  return success();
}

/// Says why no kernel of this schedule keeps tiles; "" if one does.
static std::string findGuardProblem(TiledLinearOp op) {
  ScheduleAttr schedule = op.getSchedule();
  if (!op.isGuarded() ||
      (TiledFamily::of(schedule).traits.mayGuard && !schedule.getStreamK()))
    return "";
  return "with factors and method " +
         stringifyProductMethod(schedule.getMethod()).str() +
         ", which keep most tiles, it must be mma_sync without stream_k";
}

LogicalResult tenon::checkTiled(TiledLinearOp op) {
  if (failed(checkBuffers(op)))
    return failure();
  auto w = cast<MemRefType>(op.getW().getType());
  if (w.getNumElements() == 0)
    return op.emitOpError("has nothing to multiply: w is ") << w;
  ScheduleAttr schedule = op.getSchedule();
  std::string problem = findProblem(schedule, w.getElementType());
  if (problem.empty())
    problem = findGuardProblem(op);
  for (unsigned term = 0; problem.empty() && term != op.getNumTerms(); ++term)
    problem = findExtentProblem(schedule.getFamily(), w.getElementType(),
                                op.getTermK(term));
  if (problem.empty())
    problem = findLayoutProblem(schedule, w.getElementType(), op.getLayout(),
                                op.getExtents());
  if (problem.empty() && op.hasBlockScales() && schedule.hasSwappedOperands())
    problem = "where blocks have scales, operands are not swapped";
  if (problem.empty() && schedule.getReduction() == ReductionMethod::Resident)
    problem = findResidentProblem(op);
  if (!problem.empty())
    return op.emitOpError("cannot have this schedule: ") << problem;
  return success();
}

LogicalResult tenon::lowerTiledLinear(TiledLinearOp op, gpu::GPUModuleOp module,
                                      SmallVectorImpl<Attribute> &kernels) {
  if (failed(checkTiled(op)))
    return failure();
  if (op.getNumWeights() != 1 || op.getNumTerms() != 1) {
    TiledLowering(op, module, kernels).runProducts();
    return success();
  }
  if (reducesAlone(op))
    return TiledLowering(op, module, kernels).runRows();
  addUnscale(op);
  RowPhases rowPhases = cutRows(op);
  return TiledLowering(op, module, kernels, rowPhases).run();
}

void tenon::lowerUnaligned(TiledLinearOp op, gpu::GPUModuleOp module,
                           SmallVectorImpl<Attribute> &kernels) {
  TiledLowering(op, module, kernels).runUnaligned();
}
