//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits epilogue ops on a thread's elements, and their loads and stores.
//
//===----------------------------------------------------------------------===//

#include "ElementEmitter.h"

#include "Constants.h"
#include "PackedElements.h"

#include "tenon/Dialect/Tenon/IR/NarrowFloats.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <cmath>

using namespace mlir;
using namespace mlir::tenon;

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value tenon::emitCeilDiv(ImplicitLocOpBuilder &builder, Value a, Value b) {
  Value one = createI64(builder, 1);
  Value above =
      arith::AddIOp::create(builder, a, arith::SubIOp::create(builder, b, one));
  return arith::DivUIOp::create(builder, above, b);
}

Value tenon::castFloat(ImplicitLocOpBuilder &builder, Value value, Type type) {
  unsigned from = value.getType().getIntOrFloatBitWidth();
  unsigned to = type.getIntOrFloatBitWidth();
  if (from < to)
    return arith::ExtFOp::create(builder, type, value);
  if (from > to)
    return arith::TruncFOp::create(builder, type, value);
  return value;
}

Value tenon::getOffset(ImplicitLocOpBuilder &builder, Type type, Value row,
                       Value column) {
  Value offset;
  if (EpiloguePlan::variesByRow(type)) {
    int64_t extent = cast<RankedTensorType>(type).getDimSize(1);
    Value stride = createI64(builder, extent);
    offset = arith::MulIOp::create(builder, row, stride);
  }
  if (EpiloguePlan::variesByColumn(type))
    offset = offset ? arith::AddIOp::create(builder, offset, column) : column;
  if (!offset)
    offset = createI64(builder, 0);
  return offset;
}

/// LLVM has 8-bit floats as integers.
static Type getStoredType(Type elementType) {
  return isNarrowFloat(elementType)
             ? IntegerType::get(elementType.getContext(), 8)
             : elementType;
}

static Value getElementPointer(ImplicitLocOpBuilder &builder, Value pointer,
                               Value offset, Type elementType) {
  return LLVM::GEPOp::create(builder, pointer.getType(), elementType, pointer,
                             ArrayRef<LLVM::GEPArg>{offset});
}

/// Accesses are aligned to their size, up to 16 bytes: the host has checked.
static unsigned getAlignment(Type elementType, unsigned lanes) {
  return std::min(16u, lanes * elementType.getIntOrFloatBitWidth() / 8);
}

SmallVector<Value> tenon::loadLanes(ImplicitLocOpBuilder &builder,
                                    Value pointer, Value offset,
                                    Type elementType, unsigned lanes) {
  Type type = getStoredType(elementType);
  Value address = getElementPointer(builder, pointer, offset, type);
  if (lanes != 1)
    type = VectorType::get(lanes, type);
  Value loaded = LLVM::LoadOp::create(builder, type, address,
                                      getAlignment(elementType, lanes));
  auto extend = [&](Value element) {
    if (isNarrowFloat(elementType))
      element = arith::BitcastOp::create(builder, elementType, element);
    return castFloat(builder, element, getComputeType(elementType));
  };
  if (lanes == 1)
    return {extend(loaded)};
  if (elementType.isF16() || elementType.isBF16())
    return extendElements(builder, loaded);
  SmallVector<Value> values;
  for (unsigned lane = 0; lane != lanes; ++lane)
    values.push_back(extend(vector::ExtractOp::create(builder, loaded, lane)));
  return values;
}

SmallVector<Value> tenon::roundElements(ImplicitLocOpBuilder &builder,
                                        Type elementType,
                                        ArrayRef<Value> values) {
  return llvm::map_to_vector(values, [&](Value value) -> Value {
    Value rounded = castFloat(builder, value, elementType);
    return isNarrowFloat(elementType)
               ? arith::BitcastOp::create(builder, getStoredType(elementType),
                                          rounded)
               : rounded;
  });
}

void tenon::storeLanes(ImplicitLocOpBuilder &builder, Value pointer,
                       Value offset, Type elementType, ArrayRef<Value> values) {
  SmallVector<Value> elements = roundElements(builder, elementType, values);
  Type type = getStoredType(elementType);
  Value stored = elements[0];
  if (elements.size() != 1)
    stored = vector::FromElementsOp::create(
        builder, VectorType::get(elements.size(), type), elements);
  Value address = getElementPointer(builder, pointer, offset, type);
  LLVM::StoreOp::create(builder, stored, address,
                        getAlignment(elementType, elements.size()));
}

//===----------------------------------------------------------------------===//
// ElementEmitter
//===----------------------------------------------------------------------===//

void ElementEmitter::load(BlockArgument argument, unsigned row) {
  Type type = argument.getType();
  bool byRow = EpiloguePlan::variesByRow(type);
  unsigned width = EpiloguePlan::variesByColumn(type) ? lanes : 1;
  Value offset = getOffset(builder, type, byRow ? rows[row] : Value(), column);
  SmallVector<Value> values =
      loadLanes(builder, pointers.at(argument), offset,
                cast<RankedTensorType>(type).getElementType(), width);
  for (auto [lane, value] : llvm::enumerate(values))
    (byRow ? varying : invariant)[{argument, row, lane}] = value;
}

void ElementEmitter::emitRowInvariant(const EpiloguePhase &phase) {
  for (Operation *op : phase.ops)
    if (!isa<ReductionEpilogueOp>(op))
      for (Value operand : op->getOperands())
        if (!EpiloguePlan::variesByRow(operand.getType()))
          for (unsigned lane = 0; lane != lanes; ++lane)
            get(operand, 0, lane);
  // Of one row, what is reduced is the same in all rows too.
  ReductionEpilogueOp reduction = phase.reduction;
  if (reduction &&
      !EpiloguePlan::variesByRow(reduction.getReducedInput().getType()))
    for (unsigned lane = 0; lane != lanes; ++lane)
      get(reduction.getReducedInput(), 0, lane);
}

void ElementEmitter::beginRows(ArrayRef<Value> newRows,
                               ArrayRef<BlockArgument> operands) {
  rows.assign(newRows.begin(), newRows.end());
  varying.clear();
  // All loads come first, so that they are in flight together.
  for (unsigned row = 0; row != rows.size(); ++row)
    loadRow(row, operands);
}

void ElementEmitter::loadRow(unsigned row, ArrayRef<BlockArgument> operands) {
  for (BlockArgument operand : operands)
    if (EpiloguePlan::variesByRow(operand.getType()))
      load(operand, row);
}

void ElementEmitter::set(Value tensor, unsigned row, unsigned lane,
                         Value value) {
  bool byRow = EpiloguePlan::variesByRow(tensor.getType());
  (byRow ? varying : invariant)[{tensor, byRow ? row : 0, lane}] = value;
}

Value ElementEmitter::get(Value tensor, unsigned row, unsigned lane) {
  bool byRow = EpiloguePlan::variesByRow(tensor.getType());
  Key key{tensor, byRow ? row : 0,
          EpiloguePlan::variesByColumn(tensor.getType()) ? lane : 0};
  DenseMap<Key, Value> &known = byRow ? varying : invariant;
  if (Value value = known.lookup(key))
    return value;
  if (auto argument = dyn_cast<BlockArgument>(tensor)) {
    load(argument, std::get<1>(key));
    return known.lookup(key);
  }
  Value value = emit(cast<OpResult>(tensor), row, lane);
  known[key] = value;
  return value;
}

/// The float type in which `op` computes: f64 if it sees any.
static Type getOpComputeType(Operation *op) {
  auto isF64 = [](Type type) { return getElementTypeOrSelf(type).isF64(); };
  Builder builder(op->getContext());
  if (llvm::any_of(op->getOperandTypes(), isF64) ||
      llvm::any_of(op->getResultTypes(), isF64))
    return builder.getF64Type();
  return builder.getF32Type();
}

/// An elementwise op of another dialect, on scalars.
static Value emitGeneric(ImplicitLocOpBuilder &builder, Operation *op,
                         Type compute, ValueRange operands) {
  Type type = getElementTypeOrSelf(op->getResultTypes()[0]);
  // Arithmetic is in f32, so a conversion is only a rounding.
  if (isa<arith::ExtFOp>(op))
    return operands[0];
  if (isa<arith::TruncFOp>(op))
    return castFloat(builder, castFloat(builder, operands[0], type), compute);
  OperationState state(builder.getLoc(), op->getName(), operands,
                       isa<FloatType>(type) ? compute : type, op->getAttrs());
  return builder.create(state)->getResult(0);
}

/// x / d in f32 of many x by one d, whose reciprocal is computed once: the
/// product with it is corrected by its remainder, and is the neighbour of the
/// correct result at most. Both are scaled so that the reciprocal is a normal
/// number. Where no remainder is finite the product is right: of zeros,
/// infinities and NaN, and of what is too large.
static Value emitByReciprocal(ImplicitLocOpBuilder &b, Value x, Value d) {
  Type f32 = b.getF32Type();
  auto constant = [&](float value) -> Value {
    return arith::ConstantOp::create(b, b.getF32FloatAttr(value));
  };
  auto isLess = [&](Value a, Value c) -> Value {
    return arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, a, c);
  };
  auto select = [&](Value condition, Value a, Value c) -> Value {
    return arith::SelectOp::create(b, condition, a, c);
  };
  auto multiply = [&](Value a, Value c) -> Value {
    return arith::MulFOp::create(b, a, c);
  };
  constexpr float large = 0x1p64F, small = 0x1p-64F;
  Value size = math::AbsFOp::create(b, d);
  Value scale = select(
      isLess(size, constant(small)), constant(large),
      select(isLess(constant(large), size), constant(small), constant(1)));
  Value divisor = multiply(d, scale);
  Value reciprocal = arith::DivFOp::create(b, constant(1), divisor);
  Value dividend = multiply(x, scale), product = multiply(dividend, reciprocal);
  Value negated = arith::NegFOp::create(b, product);
  Value rest = LLVM::FMAOp::create(b, f32, negated, divisor, dividend);
  Value corrected = LLVM::FMAOp::create(b, f32, rest, reciprocal, product);
  Value isFinite = isLess(math::AbsFOp::create(b, rest), constant(INFINITY));
  return select(isFinite, corrected, product);
}

/// Whether `op` divides all of a thread's elements of a row by one value.
bool ElementEmitter::isOfOneDivisor(Operation *op) const {
  return sharesReciprocals && isa<DivOp>(op) && op->getNumOperands() == 2 &&
         EpiloguePlan::variesByColumn(op->getResult(0).getType()) &&
         !EpiloguePlan::variesByColumn(op->getOperand(1).getType());
}

Value ElementEmitter::emit(OpResult result, unsigned row, unsigned lane) {
  Operation *op = result.getOwner();
  Type type = getElementTypeOrSelf(result.getType());
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    auto splat = cast<SplatElementsAttr>(constant.getValue());
    Type compute = getComputeType(type);
    double value = splat.getSplatValue<FloatAttr>().getValueAsDouble();
    return arith::ConstantOp::create(builder,
                                     builder.getFloatAttr(compute, value));
  }
  if (auto repeat = dyn_cast<RepeatColumnsOp>(op)) // of a row's one value
    return get(repeat.getInput(), row, lane);
  Type compute = getOpComputeType(op);
  auto operandOf = [&](Value tensor) {
    Value value = get(tensor, row, lane);
    bool isFloat = isa<FloatType>(value.getType());
    return isFloat ? castFloat(builder, value, compute) : value;
  };
  Value value;
  if (auto reduction = dyn_cast<ReductionEpilogueOp>(op)) {
    value = reduction.emitApply(builder, builder.getLoc(),
                                operandOf(reduction.getReducedInput()),
                                finished.at({op, lane}));
  } else {
    SmallVector<Value> operands =
        llvm::map_to_vector(op->getOperands(), operandOf);
    if (isOfOneDivisor(op) && compute.isF32())
      value = emitByReciprocal(builder, operands[0], operands[1]);
    else if (auto elementwise = dyn_cast<ElementwiseEpilogueOp>(op))
      value = elementwise.emitScalar(builder, builder.getLoc(), operands);
    else
      value = emitGeneric(builder, op, compute, operands);
  }
  if (isa<FloatType>(type))
    value = castFloat(builder, value, getComputeType(type));
  return value;
}
