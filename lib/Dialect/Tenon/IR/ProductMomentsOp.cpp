//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The moments of a product: building, verification, bufferization.
//
//===----------------------------------------------------------------------===//

#include "DestinationStyle.h"

#include "tenon/Dialect/Tenon/IR/NarrowFloats.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"

using namespace mlir;
using namespace mlir::tenon;

/// Mean, variance, unbiased variance.
static constexpr unsigned kNumResults = 3;

void ProductMomentsOp::build(OpBuilder &builder, OperationState &state, Value x,
                             Value w) {
  state.addOperands({x, w});
  int64_t n = cast<RankedTensorType>(w.getType()).getDimSize(0);
  state.types.append(kNumResults,
                     RankedTensorType::get(n, builder.getF32Type()));
}

void ProductMomentsOp::build(OpBuilder & /*builder*/, OperationState &state,
                             Value x, Value w, ValueRange outputs) {
  state.addOperands({x, w});
  state.addOperands(outputs);
}

bool ProductMomentsOp::isOnTensors() {
  return isa<TensorType>(getX().getType());
}

void ProductMomentsOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  if (isOnTensors())
    return;
  auto *resource = SideEffects::DefaultResource::get();
  effects.emplace_back(MemoryEffects::Read::get(), &getXMutable(), resource);
  effects.emplace_back(MemoryEffects::Read::get(), &getWMutable(), resource);
  for (OpOperand &output : getOutputsMutable())
    effects.emplace_back(MemoryEffects::Write::get(), &output, resource);
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

LogicalResult ProductMomentsOp::verify() {
  bool onTensors = isOnTensors();
  auto isAlike = [&](Type type) { return isa<TensorType>(type) == onTensors; };
  // product_moments-C1
  if (!llvm::all_of(getOperandTypes(), isAlike) ||
      onTensors == (getNumResults() == 0) || onTensors != getOutputs().empty())
    return emitOpError("takes tensors and gives tensors, or takes memrefs and "
                       "writes to memrefs: operands are (")
           << getOperandTypes() << "), results (" << getResultTypes() << ")";
  auto x = cast<ShapedType>(getX().getType()),
       w = cast<ShapedType>(getW().getType());
  // product_moments-C2
  if (x.getRank() != 2 || w.getRank() != 2 || !w.hasStaticShape() ||
      x.getDimSize(1) != w.getDimSize(1) ||
      x.getElementType() != w.getElementType() || x.getElementType().isF64() ||
      isNarrowFloat(x.getElementType()))
    return emitOpError("takes x [M, K] and w [N, K] of one type, f32, f16 or "
                       "bf16, but they are ")
           << x << " and " << w;
  // product_moments-C3
  if (w.getDimSize(1) < 1 || w.getDimSize(1) > kMaxColumns)
    return emitOpError("takes a K from 1 to ")
           << kMaxColumns << ", but K is " << w.getDimSize(1);
  // product_moments-C4
  TypeRange given = onTensors ? TypeRange(getResultTypes())
                              : TypeRange(getOutputs().getTypes());
  auto isVector = [&](Type type) {
    auto shaped = cast<ShapedType>(type);
    return shaped.getElementType().isF32() &&
           shaped.getShape() == w.getShape().take_front();
  };
  if (given.size() != kNumResults || !llvm::all_of(given, isVector))
    return emitOpError("gives a mean and two variances of f32, [")
           << w.getDimSize(0) << "], but has (" << given << ")";
  return success();
}

//===----------------------------------------------------------------------===//
// Bufferization
//===----------------------------------------------------------------------===//

namespace {
struct ProductMomentsBufferization
    : tenon::detail::NewBuffersModel<ProductMomentsBufferization,
                                     ProductMomentsOp> {
  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const bufferization::BufferizationOptions &options,
                          bufferization::BufferizationState &state) const {
    auto moments = cast<ProductMomentsOp>(op);
    if (!moments.isOnTensors())
      return success();
    FailureOr<SmallVector<Value>> operands =
        tenon::detail::getOperandBuffers(op, rewriter, options, state);
    if (failed(operands))
      return failure();
    FailureOr<SmallVector<Value>> buffers =
        tenon::detail::allocateResults(op, /*extents=*/{}, rewriter, options);
    if (failed(buffers))
      return failure();
    ProductMomentsOp::create(rewriter, op->getLoc(), (*operands)[0],
                             (*operands)[1], *buffers);
    bufferization::replaceOpWithBufferizedValues(rewriter, op, *buffers);
    return success();
  }
};
} // namespace

void tenon::detail::attachProductMomentsBufferization(MLIRContext &context) {
  ProductMomentsOp::attachInterface<ProductMomentsBufferization>(context);
}
