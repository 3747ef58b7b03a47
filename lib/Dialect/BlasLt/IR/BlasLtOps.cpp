//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// plan and run: verification and memory effects.
//
//===----------------------------------------------------------------------===//

#include "tenon/Dialect/BlasLt/IR/BlasLt.h"

using namespace mlir;
using namespace mlir::blaslt;

//===----------------------------------------------------------------------===//
// PlanOp
//===----------------------------------------------------------------------===//

/// Whether the inputs of `compute` have type `input`.
static bool fits(Compute compute, Type input) {
  switch (compute) {
  case Compute::F64:
    return input.isF64();
  case Compute::F32:
    return !input.isF64();
  case Compute::TF32:
  case Compute::BF16:
  case Compute::F16:
    return input.isF32();
  }
  llvm_unreachable("not a compute mode");
}

static LogicalResult verifyTypes(PlanOp op) {
  Type input = op.getInputType(), output = op.getOutputType();
  bool isShort = input.getIntOrFloatBitWidth() == 16;
  if (output != input && !(isShort && output.isF32()))
    return op.emitOpError("gives the input type")
           << (isShort ? " or f32" : "") << ", but the output type is "
           << output << " for inputs of " << input;
  if (op.getScales() != Scales::None)
    return op.emitOpError("has scales of ")
           << stringifyScales(op.getScales())
           << ", which inputs of 8 bits alone have, not " << input;
  return success();
}

/// cuBLASLt multiplies bytes along K, in rows of multiples of 16.
static LogicalResult verifyOf8Bits(PlanOp op) {
  Type input = op.getInputType(), output = op.getOutputType();
  if (!output.isF32() && output.getIntOrFloatBitWidth() != 16)
    return op.emitOpError("gives f32, f16 or bf16 for inputs of 8 bits, not ")
           << output;
  if (input != Float8E4M3FNType::get(op.getContext()))
    return op.emitOpError("multiplies f8E4M3FN, but the inputs are ") << input;
  if (op.getScales() == Scales::Rows && !output.isBF16())
    return op.emitOpError("with scales of rows gives bf16, not ") << output;
  if (op.getN() % 16 != 0 || op.getK() % 16 != 0 || op.getXTransposed() ||
      op.getWTransposed())
    return op.emitOpError("multiplies 8 bits along K, with n and k multiples "
                          "of 16; cast x and w to f16");
  return success();
}

LogicalResult PlanOp::verify() {
  if (static_cast<int64_t>(getN()) <= 0)
    return emitOpError("n must be positive, but is ")
           << static_cast<int64_t>(getN());
  if (static_cast<int64_t>(getK()) < 0)
    return emitOpError("k must not be negative, but is ")
           << static_cast<int64_t>(getK());
  if (!fits(getCompute(), getInputType()))
    return emitOpError("compute = ")
           << stringifyCompute(getCompute()) << " does not take inputs of "
           << getInputType() << "; f64 takes f64, f32 takes f32, f16 and bf16, "
           << "and the others take f32";
  if (failed(isOf8Bits() ? verifyOf8Bits(*this) : verifyTypes(*this)))
    return failure();
  if (!getAlpha().isFinite())
    return emitOpError("alpha must be finite, but is ")
           << getAlpha().convertToDouble();
  return success();
}

//===----------------------------------------------------------------------===//
// RunOp
//===----------------------------------------------------------------------===//

/// Checks that an operand has the plan's shape and element type.
static LogicalResult verifyOperand(RunOp op, StringRef name, Value operand,
                                   ArrayRef<int64_t> shape, Type elementType) {
  auto type = cast<ShapedType>(operand.getType());
  auto expected = type.cloneWith(shape, elementType);
  if (type.getShape() == shape && type.getElementType() == elementType)
    return success();
  return op.emitOpError() << name << " must be as planned: expected "
                          << expected << ", but it is " << type;
}

/// Checks that an optional operand is there exactly where the plan has it.
static LogicalResult verifyPresence(RunOp op, StringRef name, bool planned,
                                    bool given, StringRef article = "a ") {
  if (planned == given)
    return success();
  if (planned)
    return op.emitOpError()
           << "the plan has " << article << name << ", but none is given";
  return op.emitOpError() << "has " << article << name
                          << ", but its plan has none; add '" << name
                          << "' to the blaslt.plan";
}

/// Checks that scales are those of the plan: a number, or one a row.
static LogicalResult verifyScales(RunOp op) {
  Scales scales = op.getPlanOp().getScales();
  bool isPlanned = scales != Scales::None;
  if (failed(verifyPresence(op, "scales", isPlanned, !!op.getXScale(), "")))
    return failure();
  if (!isPlanned)
    return success();
  Type f32 = Float32Type::get(op.getContext());
  SmallVector<int64_t> ofX, ofW;
  if (scales == Scales::Rows) {
    ofX = {cast<ShapedType>(op.getX().getType()).getDimSize(0), 1};
    ofW = {static_cast<int64_t>(op.getPlanOp().getN())};
  }
  return failure(
      failed(verifyOperand(op, "x's scales", op.getXScale(), ofX, f32)) ||
      failed(verifyOperand(op, "w's scales", op.getWScale(), ofW, f32)));
}

LogicalResult RunOp::verify() {
  PlanOp plan = getPlanOp();
  if (!plan)
    return emitOpError("plan must be the result of a blaslt.plan");
  bool onTensors = isOnTensors();
  for (Value operand : getOperands().drop_front())
    if (isa<TensorType>(operand.getType()) != onTensors)
      return emitOpError("takes tensors or memrefs, not both: operands are (")
             << getOperands().drop_front().getTypes() << ")";
  if (onTensors ? !getResult() || getResult().getType() != getY().getType()
                : getResult() != Value())
    return emitOpError(onTensors ? "on tensors gives one result of y's type"
                                 : "on memrefs gives no result");
  int64_t n = plan.getN(), k = plan.getK();
  bool turnsX = plan.getXTransposed(), turnsW = plan.getWTransposed();
  int64_t m = cast<ShapedType>(getX().getType()).getDimSize(turnsX ? 1 : 0);
  SmallVector<int64_t> xShape{m, k}, wShape{n, k};
  if (turnsX)
    std::swap(xShape[0], xShape[1]);
  if (turnsW)
    std::swap(wShape[0], wShape[1]);
  Type input = plan.getInputType(), output = plan.getOutputType();
  if (failed(verifyOperand(*this, "x", getX(), xShape, input)) ||
      failed(verifyOperand(*this, "w", getW(), wShape, input)) ||
      failed(verifyOperand(*this, "y", getY(), {m, n}, output)) ||
      failed(verifyPresence(*this, "bias", plan.getBias(), !!getBias())) ||
      failed(verifyScales(*this)) ||
      failed(verifyPresence(*this, "residual", plan.getResidual(),
                            !!getResidual())) ||
      (getBias() &&
       failed(verifyOperand(*this, "bias", getBias(), {n}, output))) ||
      (getResidual() &&
       failed(verifyOperand(*this, "residual", getResidual(), {m, n}, output))))
    return failure();
  auto workspace = cast<ShapedType>(getWorkspace().getType());
  if (workspace.getDimSize(0) != kWorkspaceBytes)
    return emitOpError("workspace must be ")
           << kWorkspaceBytes << " bytes of i8, but is " << workspace;
  return success();
}

void RunOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  if (isOnTensors())
    return;
  auto *resource = SideEffects::DefaultResource::get();
  for (OpOperand &operand : getOperation()->getOpOperands()) {
    if (!isa<MemRefType>(operand.get().getType()))
      continue;
    if (isDpsInit(&operand) || &operand == &getWorkspaceMutable())
      effects.emplace_back(MemoryEffects::Write::get(), &operand, resource);
    else
      effects.emplace_back(MemoryEffects::Read::get(), &operand, resource);
  }
}

#define GET_OP_CLASSES
#include "tenon/Dialect/BlasLt/IR/BlasLtOps.cpp.inc"
