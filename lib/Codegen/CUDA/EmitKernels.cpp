//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// --tenon-emit-kernels: epilogues on memrefs become kernels and their launches.
//
//===----------------------------------------------------------------------===//

#include "EpilogueKernels.h"
#include "HostValues.h"
#include "ReductionEmitter.h"
#include "SplitKernel.h"
#include "Tiled/TiledKernel.h"

#include "tenon/Codegen/CUDA/Passes.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace mlir::tenon {
#define GEN_PASS_DEF_TENONEMITKERNELS
#include "tenon/Codegen/CUDA/Passes.h.inc"
} // namespace mlir::tenon

using namespace mlir;
using namespace mlir::tenon;

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

static LogicalResult check(EpilogueOp op, const EpiloguePlan &plan) {
  if (failed(checkBuffers(op)))
    return failure();
  if (ShapedType::isDynamic(plan.getShape()[1]))
    return op.emitOpError("only the first dimension may be dynamic, but the "
                          "last one is");
  if (plan.getShape()[1] == 0)
    return op.emitOpError("has no columns");
  for (EpiloguePhase phase : plan.getPhases().drop_back())
    if (phase.reduction.getReductionAxis() != 0)
      return phase.reduction.emitOpError(
          "reduces along N, which the CUDA target cannot do yet");
  return success();
}

//===----------------------------------------------------------------------===//
// The host's part
//===----------------------------------------------------------------------===//

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
  void launch(const EpiloguePhase &phase, unsigned index,
              const KernelGeometry &geometry, Value groups);
  LLVM::LLVMFuncOp emitKernel(const EpiloguePhase &phase, unsigned index,
                              const KernelGeometry &geometry);
  std::string nameKernel(StringRef kind, unsigned lanes);
  void allocateStates(ArrayRef<KernelGeometry> geometries);
  Value createM();
  Value createGroups(const KernelGeometry &geometry);
  Value i64(int64_t value) {
    return arith::ConstantOp::create(b, b.getI64IntegerAttr(value));
  }
  bool hasReductions() const { return plan.getPhases().size() != 1; }

  EpilogueOp op;
  EpiloguePlan plan;
  gpu::GPUModuleOp module;
  SmallVectorImpl<Attribute> &kernels;
  ImplicitLocOpBuilder b;
  Value m;                   // i64
  SmallVector<Value> states; // of each reduction, a memref
};
} // namespace

/// The number of rows.
Value EpilogueLowering::createM() {
  int64_t extent = plan.getShape()[0];
  if (!ShapedType::isDynamic(extent))
    return i64(extent);
  Value source = *llvm::find_if(op.getOperands(), [](Value operand) {
    auto type = cast<MemRefType>(operand.getType());
    return type.getRank() == 2 && type.isDynamicDim(0);
  });
  return createRowCount(b, source);
}

/// How many groups of blocks share the tiles.
Value EpilogueLowering::createGroups(const KernelGeometry &geometry) {
  Value tiles = emitCeilDiv(b, m, i64(geometry.tileRows()));
  bool hasColumnResults =
      llvm::any_of(op.getYield().getOperandTypes(),
                   [](Type type) { return !EpiloguePlan::variesByRow(type); });
  Value groups;
  if (hasReductions()) {
    groups = arith::MinSIOp::create(b, tiles, i64(geometry.maxGroups()));
  } else {
    // Two waves of a large GPU's blocks, each with as many tiles.
    constexpr int64_t kBlocks = 2112;
    Value blocks =
        arith::MulIOp::create(b, tiles, i64(geometry.columnBlocks()));
    Value each = emitCeilDiv(b, blocks, i64(kBlocks));
    each = arith::MaxSIOp::create(b, each, i64(1));
    groups = emitCeilDiv(b, tiles, each);
  }
  // Results that do not depend on the rows are written for an empty batch too.
  if (hasReductions() || hasColumnResults)
    groups = arith::MaxSIOp::create(b, groups, i64(1));
  return groups;
}

void EpilogueLowering::allocateStates(ArrayRef<KernelGeometry> geometries) {
  int64_t groups = 0;
  for (const KernelGeometry &geometry : geometries)
    groups = std::max(groups, geometry.maxGroups());
  for (EpiloguePhase phase : plan.getPhases().drop_back()) {
    auto type = MemRefType::get(
        {groups, phase.reduction.getStateSize(), plan.getShape()[1]},
        getStateType(phase.reduction));
    states.push_back(memref::AllocOp::create(b, type));
  }
}

std::string EpilogueLowering::nameKernel(StringRef kind, unsigned lanes) {
  auto function = op->getParentOfType<FunctionOpInterface>();
  return makeKernelName(
      module, (function.getName() + "_" + kind + "_v" + Twine(lanes)).str());
}

LLVM::LLVMFuncOp EpilogueLowering::emitKernel(const EpiloguePhase &phase,
                                              unsigned index,
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
void EpilogueLowering::launch(const EpiloguePhase &phase, unsigned number,
                              const KernelGeometry &geometry, Value groups) {
  LLVM::LLVMFuncOp kernel = emitKernel(phase, number, geometry);
  SmallVector<Value> arguments;
  for (BlockArgument operand : phase.operands)
    arguments.push_back(op.getInputs()[operand.getArgNumber()]);
  if (!phase.reduction)
    llvm::append_range(arguments, op.getOutputs());
  for (ReductionEpilogueOp reduction : phase.finished) {
    auto *producer =
        llvm::find_if(plan.getPhases(), [&](const EpiloguePhase &earlier) {
          return earlier.reduction == reduction;
        });
    arguments.push_back(states[producer - plan.getPhases().begin()]);
  }
  if (phase.reduction)
    arguments.push_back(states[number]);
  arguments.append({m, groups});
  Value blocks = arith::MulIOp::create(b, groups, i64(geometry.columnBlocks()));
  createLaunch(b, kernel, blocks, geometry.threads(), /*shared=*/Value(),
               arguments);
}

void EpilogueLowering::launchPhases(const KernelGeometry &geometry) {
  Value groups = createGroups(geometry);
  for (auto [number, phase] : llvm::enumerate(plan.getPhases()))
    launch(phase, number, geometry, groups);
}

void EpilogueLowering::run() {
  unsigned lanes = KernelGeometry::getMaxLanes(plan, *op.getBody());
  KernelGeometry narrow = KernelGeometry::get(plan, 1);
  KernelGeometry wide = KernelGeometry::get(plan, lanes);
  allocateStates({narrow, wide});
  m = createM();
  if (lanes == 1) {
    launchPhases(narrow);
  } else {
    auto branch = scf::IfOp::create(b, createIsAligned(b, op.getOperands()),
                                    /*withElseRegion=*/true);
    b.setInsertionPointToStart(branch.thenBlock());
    launchPhases(wide);
    b.setInsertionPointToStart(branch.elseBlock());
    launchPhases(narrow);
  }
  op.erase();
}

namespace {
struct EmitKernels : tenon::impl::TenonEmitKernelsBase<EmitKernels> {
  static LogicalResult lower(Operation *op, gpu::GPUModuleOp module,
                             SmallVectorImpl<Attribute> &kernels) {
    if (auto tiled = dyn_cast<TiledLinearOp>(op))
      return lowerTiledLinear(tiled, module, kernels);
    if (auto split = dyn_cast<SplitOp>(op))
      return lowerSplit(split, module, kernels);
    auto epilogue = cast<EpilogueOp>(op);
    FailureOr<EpiloguePlan> plan = EpiloguePlan::get(*epilogue.getBody());
    if (failed(plan) || failed(check(epilogue, *plan)))
      return failure();
    EpilogueLowering(epilogue, std::move(*plan), module, kernels).run();
    return success();
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<Operation *> ops;
    module.walk([&](Operation *op) {
      if (isa<EpilogueOp, SplitOp, TiledLinearOp>(op))
        ops.push_back(op);
    });
    if (ops.empty())
      return;
    OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
    auto kernelModule =
        gpu::GPUModuleOp::create(builder, module.getLoc(), "kernels");
    module->setAttr(gpu::GPUDialect::getContainerModuleAttrName(),
                    builder.getUnitAttr());
    SmallVector<Attribute> kernels;
    for (Operation *op : ops)
      if (failed(lower(op, kernelModule, kernels)))
        return signalPassFailure();
    module->setAttr(TenonDialect::kKernelsAttr, builder.getArrayAttr(kernels));
  }
};
} // namespace
