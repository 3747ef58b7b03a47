//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits the finishing kernel, and its launch.
//
//===----------------------------------------------------------------------===//

#include "FinishKernel.h"

#include "../HostValues.h"
#include "../ReductionEmitter.h"
#include "FinishFrame.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mlir::tenon;

/// Registers of a thread for what is the same in every row, and with it for the
/// rows that it loads together: the rest of them are addresses and temporaries.
static constexpr int64_t kMaxInvariant = 24, kMaxLoaded = 40;
/// More blocks than any GPU holds: the runtime launches as many as it does.
static constexpr int64_t kMaxBlocks = 1 << 14;

//===----------------------------------------------------------------------===//
// What it can do, and how
//===----------------------------------------------------------------------===//

std::string tenon::findFinishProblem(Block &body) {
  for (Value value : body.getTerminator()->getOperands()) {
    Type type = value.getType();
    bool isMatrix =
        EpiloguePlan::variesByRow(type) && EpiloguePlan::variesByColumn(type);
    if (!isMatrix && !isColumnResult(value))
      return "the results must be matrices [M, N] or the reduction's own";
  }
  return "";
}

static unsigned getBytes(Type type) {
  return llvm::divideCeil(getElementTypeOrSelf(type).getIntOrFloatBitWidth(),
                          8);
}

/// Scalars of a column that are the same in every row: what the reduction
/// found, and other operands.
static int64_t countInvariants(const EpiloguePhase &phase) {
  constexpr int64_t kFound = 3; // such as mean, scale and bias
  llvm::SmallPtrSet<Value, 4> others;
  for (Operation *op : phase.ops)
    if (!isa<ReductionEpilogueOp>(op))
      for (Value operand : op->getOperands())
        if (isa<BlockArgument>(operand) &&
            !EpiloguePlan::variesByRow(operand.getType()))
          others.insert(operand);
  return kFound + others.size();
}

/// Columns of a lane: 16 bytes of what is reduced, or half of that where
/// registers would not suffice for as many.
static unsigned getLanes(const EpiloguePhase &phase) {
  ReductionEpilogueOp reduction = phase.finished.front();
  unsigned lanes = 16 / getBytes(reduction.getReducedInput().getType());
  return countInvariants(phase) * lanes > kMaxInvariant
             ? std::max<unsigned>(lanes / 2,
                                  ProgressLayout::kMinSpanColumns / 32)
             : lanes;
}

/// Rows that a lane loads together.
static unsigned getRows(const EpiloguePhase &phase, unsigned lanes) {
  int64_t words = 0;
  for (BlockArgument operand : phase.operands)
    if (EpiloguePlan::variesByRow(operand.getType()))
      words += EpiloguePlan::variesByColumn(operand.getType())
                   ? llvm::divideCeil(lanes * getBytes(operand.getType()), 4)
                   : 1;
  int64_t left = kMaxLoaded - countInvariants(phase) * lanes;
  return llvm::bit_floor<uint64_t>(
      std::clamp<int64_t>(left / std::max<int64_t>(words, 1), 1, 8));
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

FinishFrame::FinishFrame(gpu::GPUModuleOp module, StringRef name, EpilogueOp op,
                         const EpiloguePhase &phase,
                         const ProgressLayout &layout,
                         const KernelGeometry &geometry)
    : KernelFrame(module, name, op.getLoc(), geometry, phase,
                  /*numOutputs=*/op.getOutputs().size() + 2),
      op(op), phase(phase), reduction(phase.finished.front()), layout(layout),
      rows(arith::TruncIOp::create(b, b.getI32Type(), m)),
      found(outputs[op.getOutputs().size()]),
      progress(b, outputs.back(), layout, rows) {
  getFunction()->removeAttr(NVVM::NVVMDialect::getMinctasmAttrName());
  getFunction()->setAttr(NVVM::NVVMDialect::getMaxnregAttrName(),
                         b.getI32IntegerAttr(kRegisters));
}

/// Of a group of spans.
static int64_t countCombineUnits(const ProgressLayout &layout) {
  return layout.groupSpans() * layout.spanColumns / CombineUnit::kColumns;
}

static int64_t countGroups(const ProgressLayout &layout) {
  return llvm::divideCeil(layout.numSpans(), layout.groupSpans());
}

/// Emits unit `number` of a group whose first span is `first`. Returns what
/// CombineUnit does.
static unsigned emitUnit(FinishFrame &frame, Value first, Value number) {
  KernelBuilder &b = frame.b;
  const ProgressLayout &layout = frame.layout;
  int64_t combining = countCombineUnits(layout);
  auto branch = scf::IfOp::create(b, b.less(number, combining),
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  int64_t each = combining / layout.groupSpans();
  unsigned numScalars = CombineUnit::emit(
      frame, b.add(first, b.div(number, each)), b.rem(number, each));
  // Rows of all the group's spans are as new as each other.
  b.setInsertionPointToStart(branch.elseBlock());
  number = b.sub(number, combining);
  Value span = b.add(first, b.rem(number, layout.groupSpans()));
  NormaliseUnit::emit(frame, span, b.div(number, layout.groupSpans()),
                      numScalars);
  return numScalars;
}

/// All units that the warp gets.
static unsigned emitUnits(FinishFrame &frame) {
  KernelBuilder &b = frame.b;
  const ProgressLayout &layout = frame.layout;
  Value perGroup = b.add(
      b.mul(b.ceilDiv(frame.rows, NormaliseUnit::kRows), layout.groupSpans()),
      countCombineUnits(layout));
  Value total = b.mul(perGroup, countGroups(layout));
  Type type = b.getI32Type();
  OpBuilder::InsertionGuard guard(b);
  auto loop = scf::WhileOp::create(b, type, ValueRange());
  b.createBlock(&loop.getBefore());
  Value ticket = frame.progress.takeTicket(frame.threadX);
  scf::ConditionOp::create(b, b.less(ticket, total), ticket);
  Block *body = b.createBlock(&loop.getAfter(), {}, type, b.getLoc());
  ticket = body->getArgument(0);
  Value first = b.mul(b.div(ticket, perGroup), layout.groupSpans());
  unsigned numScalars = emitUnit(frame, first, b.rem(ticket, perGroup));
  scf::YieldOp::create(b);
  return numScalars;
}

static std::pair<LLVM::LLVMFuncOp, unsigned>
emitFinishKernel(gpu::GPUModuleOp module, StringRef name, EpilogueOp op,
                 const EpiloguePlan &plan, const ProgressLayout &layout) {
  const EpiloguePhase &phase = plan.getPhases().back();
  unsigned lanes = getLanes(phase);
  FinishFrame frame(module, name, op, phase, layout,
                    {plan.getShape()[1], lanes, /*threadsX=*/32,
                     FinishFrame::kWarps, getRows(phase, lanes)});
  unsigned numScalars = emitUnits(frame);
  // What follows may then overwrite what the product still reads or writes.
  NVVM::GriddepcontrolOp::create(frame.b, NVVM::GridDepActionKind::wait);
  frame.close();
  return {frame.getFunction(), numScalars};
}

//===----------------------------------------------------------------------===//
// The launch
//===----------------------------------------------------------------------===//

/// Blocks whose warps have a unit each.
static Value createWork(ImplicitLocOpBuilder &b, const ProgressLayout &layout,
                        Value m) {
  auto i64 = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(b, b.getI64IntegerAttr(value));
  };
  Value units = emitCeilDiv(b, m, i64(NormaliseUnit::kRows));
  units = arith::MulIOp::create(b, units, i64(layout.groupSpans()));
  units = arith::AddIOp::create(b, units, i64(countCombineUnits(layout)));
  units = arith::MulIOp::create(b, units, i64(countGroups(layout)));
  return emitCeilDiv(b, units, i64(FinishFrame::kWarps));
}

static Value getMoments(EpilogueOp rest, ReductionEpilogueOp reduction) {
  auto argument = cast<BlockArgument>(EpiloguePlan::getMoments(reduction));
  return rest.getInputs()[argument.getArgNumber()];
}

LogicalResult tenon::lowerFinish(EpilogueOp rest, Value m, Value progress,
                                 ProgressLayout layout, gpu::GPUModuleOp module,
                                 SmallVectorImpl<Attribute> &kernels) {
  FailureOr<EpiloguePlan> plan = EpiloguePlan::get(*rest.getBody());
  if (failed(plan) || failed(checkBuffers(rest)))
    return failure();
  const EpiloguePhase &phase = plan->getPhases().back();
  layout.spanColumns = 32 * getLanes(phase);
  ImplicitLocOpBuilder b(rest.getLoc(), rest);
  auto function = rest->getParentOfType<FunctionOpInterface>();
  auto [kernel, numScalars] = emitFinishKernel(
      module, makeKernelName(module, (function.getName() + "_finish").str()),
      rest, *plan, layout);
  kernels.push_back(b.getStringAttr(kernel.getName()));

  ReductionEpilogueOp reduction = phase.finished.front();
  SmallVector<Value> arguments;
  for (BlockArgument operand : phase.operands)
    arguments.push_back(rest.getInputs()[operand.getArgNumber()]);
  llvm::append_range(arguments, rest.getOutputs());
  auto found = MemRefType::get({numScalars, plan->getShape()[1]},
                               getStateType(reduction));
  Value token = arith::ConstantOp::create(b, b.getI64IntegerAttr(0));
  arguments.append({createTemporary(b, found), progress,
                    getMoments(rest, reduction), m, token});
  gpu::LaunchFuncOp launch = createLaunch(b, kernel, createWork(b, layout, m),
                                          32 * FinishFrame::kWarps,
                                          /*shared=*/Value(), arguments);
  launch->setAttr(TenonDialect::kPersistentAttr,
                  b.getI64IntegerAttr(kMaxBlocks));
  launch->setAttr(TenonDialect::kWaitsItselfAttr, b.getUnitAttr());
  rest.erase();
  return success();
}
