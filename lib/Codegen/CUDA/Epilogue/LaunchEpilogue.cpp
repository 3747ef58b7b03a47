//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The host's part of an epilogue: its launches.
//
//===----------------------------------------------------------------------===//

#include "LaunchEpilogue.h"
#include "Codegen/CUDA/Emit/Constants.h"
#include "Codegen/CUDA/Emit/HostValues.h"
#include "CombineMoments.h"
#include "MapKernel.h"
#include "ReductionKernel.h"
#include "RowKernel.h"
#include "SharedStates.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

#include <numeric>

using namespace mlir;
using namespace mlir::tenon;

/// Whether threads go by rows, or groups of their columns: some op reduces
/// these, or repeats what was found of them.
static bool goesByRows(EpilogueOp op) {
  return getRowGroups(*op.getBody()) != 0;
}

static LogicalResult check(EpilogueOp op, const EpiloguePlan &plan) {
  if (failed(checkBuffers(op)))
    return failure();
  if (ShapedType::isDynamic(plan.getShape()[1]))
    return op.emitOpError("only the first dimension may be dynamic, but the "
                          "last one is");
  if (plan.getShape()[1] == 0)
    return op.emitOpError("has no columns");
  if (goesByRows(op) && !plan.getPhases().back().finished.empty())
    return op.emitOpError("reduces along M and along N; write an epilogue for "
                          "each");
  return success();
}

namespace {
/// Replaces one epilogue by launches; adds its kernels to `module`.
class EpilogueLowering {
public:
  EpilogueLowering(EpilogueOp op, EpiloguePlan plan, gpu::GPUModuleOp module,
                   SmallVectorImpl<Attribute> &kernels)
      : op(op), plan(std::move(plan)), module(module), kernels(kernels),
        b(op.getLoc(), op) {}

  void run();

private:
  void launchPhases(const KernelGeometry &geometry);
  void launchRows(ArrayRef<RowPhase> phases, int64_t groups, unsigned lanes);
  void launch(const EpiloguePhase &phase, const KernelGeometry &geometry,
              Value groups);
  LLVM::LLVMFuncOp emitKernel(const EpiloguePhase &phase,
                              const KernelGeometry &geometry);
  std::string nameKernel(StringRef kind, unsigned lanes);
  void allocateStates(ArrayRef<KernelGeometry> geometries);
  void combineMoments();
  Value getMoments(ReductionEpilogueOp reduction);
  Value getStates(ReductionEpilogueOp reduction);
  Value createM();
  Value createGroups(const KernelGeometry &geometry);
  bool hasReductions() const {
    return !plan.getPhases().back().finished.empty();
  }

  EpilogueOp op;
  EpiloguePlan plan;
  gpu::GPUModuleOp module;
  SmallVectorImpl<Attribute> &kernels;
  ImplicitLocOpBuilder b;
  Value m; // i64
  /// What each reduction's kernel leaves, a memref.
  DenseMap<Operation *, Value> states;
};
} // namespace

/// The number of rows.
Value EpilogueLowering::createM() {
  int64_t extent = plan.getShape()[0];
  if (!ShapedType::isDynamic(extent))
    return createI64(b, extent);
  auto isSource = [&](OpOperand &operand) {
    auto type = cast<MemRefType>(operand.get().getType());
    return type.getRank() == 2 && type.isDynamicDim(0) &&
           (op.isDpsInit(&operand) ||
            !EpiloguePlan::isMoments(
                op.getBody()->getArgument(operand.getOperandNumber())));
  };
  OpOperand *source = llvm::find_if(op->getOpOperands(), isSource);
  return createRowCount(b, source->get());
}

/// How many groups of blocks share the tiles.
Value EpilogueLowering::createGroups(const KernelGeometry &geometry) {
  Value tiles = emitCeilDiv(b, m, createI64(b, geometry.tileRows()));
  bool hasColumnResults =
      llvm::any_of(op.getYield().getOperandTypes(),
                   [](Type type) { return !EpiloguePlan::variesByRow(type); });
  Value groups;
  if (hasReductions()) {
    groups =
        arith::MinSIOp::create(b, tiles, createI64(b, geometry.maxGroups()));
  } else {
    // Two waves of a large GPU's blocks, each with as many tiles.
    constexpr int64_t kBlocks = 2112;
    Value blocks =
        arith::MulIOp::create(b, tiles, createI64(b, geometry.columnBlocks()));
    Value each = emitCeilDiv(b, blocks, createI64(b, kBlocks));
    each = arith::MaxSIOp::create(b, each, createI64(b, 1));
    groups = emitCeilDiv(b, tiles, each);
  }
  // Results that do not depend on the rows are written for an empty batch too.
  if (hasReductions() || hasColumnResults)
    groups = arith::MaxSIOp::create(b, groups, createI64(b, 1));
  return groups;
}

void EpilogueLowering::allocateStates(ArrayRef<KernelGeometry> geometries) {
  int64_t groups = 0;
  for (const KernelGeometry &geometry : geometries)
    groups = std::max(groups, geometry.maxGroups());
  for (ReductionEpilogueOp reduction : plan.getPhases().back().finished) {
    bool isGiven = static_cast<bool>(EpiloguePlan::getMoments(reduction));
    if (isGiven && !combinesMoments(reduction))
      continue;
    auto type = MemRefType::get({isGiven ? kCombinedStates : groups,
                                 getStoredSize(reduction), plan.getShape()[1]},
                                getStateType(reduction));
    states[reduction] = createTemporary(b, type);
  }
}

/// The moments that `reduction` is given.
Value EpilogueLowering::getMoments(ReductionEpilogueOp reduction) {
  auto argument = cast<BlockArgument>(EpiloguePlan::getMoments(reduction));
  return op.getInputs()[argument.getArgNumber()];
}

/// The states that a kernel takes for a reduction it applies.
Value EpilogueLowering::getStates(ReductionEpilogueOp reduction) {
  Value own = states.lookup(reduction);
  return own ? own : getMoments(reduction);
}

/// Launches what combines moments that are too many for the kernels' heads.
void EpilogueLowering::combineMoments() {
  for (ReductionEpilogueOp reduction : plan.getPhases().back().finished) {
    if (!combinesMoments(reduction))
      continue;
    KernelGeometry geometry = getCombineGeometry(plan.getShape()[1]);
    LLVM::LLVMFuncOp kernel = emitCombineKernel(
        module, nameKernel("combine", geometry.lanes), reduction, geometry);
    kernels.push_back(b.getStringAttr(kernel.getName()));
    createLaunch(b, kernel,
                 createI64(b, kCombinedStates * geometry.columnBlocks()),
                 geometry.threads(), /*shared=*/Value(),
                 {getMoments(reduction), getStates(reduction), m,
                  createI64(b, kCombinedStates)});
  }
}

std::string EpilogueLowering::nameKernel(StringRef kind, unsigned lanes) {
  auto function = op->getParentOfType<FunctionOpInterface>();
  return makeKernelName(
      module, (function.getName() + "_" + kind + "_v" + Twine(lanes)).str());
}

LLVM::LLVMFuncOp EpilogueLowering::emitKernel(const EpiloguePhase &phase,

                                              const KernelGeometry &geometry) {
  LLVM::LLVMFuncOp kernel;
  if (phase.reduction)
    kernel = emitReductionKernel(module, nameKernel("reduce", geometry.lanes),
                                 op, phase, geometry);
  else
    kernel = emitMapKernel(module, nameKernel("map", geometry.lanes), op, phase,
                           geometry);
  kernels.push_back(b.getStringAttr(kernel.getName()));
  return kernel;
}

/// Launches the kernel of a phase, with the arguments that KernelFrame takes.
void EpilogueLowering::launch(const EpiloguePhase &phase,
                              const KernelGeometry &geometry, Value groups) {
  LLVM::LLVMFuncOp kernel = emitKernel(phase, geometry);
  SmallVector<Value> arguments;
  for (BlockArgument operand : phase.operands)
    arguments.push_back(op.getInputs()[operand.getArgNumber()]);
  if (!phase.reduction)
    llvm::append_range(arguments, op.getOutputs());
  for (ReductionEpilogueOp reduction : phase.finished)
    arguments.push_back(getStates(reduction));
  if (phase.reduction)
    arguments.push_back(getStates(phase.reduction));
  arguments.append({m, groups});
  // Without results of rows, the first group's blocks have all the work, or
  // those of each sum.
  int64_t sums = addsSumsAlone(op) ? phase.finished.size() : 1;
  Value blocks = createI64(b, sums * geometry.columnBlocks());
  if (phase.reduction || storesRows(op))
    blocks = arith::MulIOp::create(b, groups, blocks);
  createLaunch(b, kernel, blocks, geometry.threads(), /*shared=*/Value(),
               arguments);
}

void EpilogueLowering::launchPhases(const KernelGeometry &geometry) {
  Value groups = createGroups(geometry);
  for (const EpiloguePhase &phase : plan.getPhases())
    launch(phase, geometry, groups);
}

/// One kernel for reductions of rows, if there are any, and all else.
void EpilogueLowering::launchRows(ArrayRef<RowPhase> phases, int64_t groups,
                                  unsigned lanes) {
  int64_t columns = plan.getShape()[1] / groups;
  lanes = std::gcd(lanes, columns);
  bool isDouble = llvm::any_of(phases, [](const RowPhase &phase) {
    return getElementTypeOrSelf(phase.result.getType()).isF64();
  });
  RowGeometry geometry(columns, groups, lanes, isDouble);
  LLVM::LLVMFuncOp kernel =
      emitRowKernel(module, nameKernel("rows", lanes), op, phases, geometry);
  kernels.push_back(b.getStringAttr(kernel.getName()));
  SmallVector<Value> arguments(op->getOperands());
  arguments.append({m, m});
  Value rows = m;
  if (groups != 1)
    rows = arith::MulIOp::create(b, m, createI64(b, groups));
  Value blocks = emitCeilDiv(b, rows, createI64(b, geometry.rowsOfBlock()));
  createLaunch(b, kernel, blocks, geometry.threads, /*shared=*/Value(),
               arguments);
}

void EpilogueLowering::run() {
  unsigned lanes = KernelGeometry::getMaxLanes(plan, *op.getBody());
  auto emitWidths = [&](llvm::function_ref<void(unsigned)> emit) {
    if (lanes == 1)
      return emit(1);
    emitIfAligned(b, op.getOperands(), [&] { emit(lanes); }, [&] { emit(1); });
  };
  if (goesByRows(op)) {
    m = createM();
    int64_t groups = getRowGroups(*op.getBody());
    RowPhases phases = cutAtRowReductions(*op.getBody(), SourceMoves::None);
    emitWidths([&](unsigned width) { launchRows(phases, groups, width); });
    op.erase();
    return;
  }
  if (addsSumsAlone(op)) {
    m = createM();
    int64_t sums = plan.getPhases().back().finished.size();
    launchPhases(KernelGeometry::getOfSums(plan.getShape()[1], sums));
    op.erase();
    return;
  }
  KernelGeometry narrow = KernelGeometry::get(plan, 1);
  KernelGeometry wide = KernelGeometry::get(plan, lanes);
  allocateStates({narrow, wide});
  m = createM();
  combineMoments();
  emitWidths([&](unsigned width) { launchPhases(width == 1 ? narrow : wide); });
  op.erase();
}

LogicalResult tenon::lowerEpilogue(EpilogueOp op, gpu::GPUModuleOp module,
                                   SmallVectorImpl<Attribute> &kernels) {
  FailureOr<EpiloguePlan> plan = EpiloguePlan::get(*op.getBody());
  if (failed(plan) || failed(check(op, *plan)))
    return failure();
  EpilogueLowering(op, std::move(*plan), module, kernels).run();
  return success();
}
