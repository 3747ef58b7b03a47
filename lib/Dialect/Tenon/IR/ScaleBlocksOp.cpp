//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Blocks that have scales: verification, bufferization, which layers multiply
// them.
//
//===----------------------------------------------------------------------===//

#include "DestinationStyle.h"

#include "tenon/Dialect/Tenon/IR/NarrowFloats.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::tenon;

bool ScaleBlocksOp::isOnTensors() { return isa<TensorType>(getX().getType()); }

void ScaleBlocksOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  if (isOnTensors())
    return;
  auto *resource = SideEffects::DefaultResource::get();
  for (OpOperand *read : {&getXMutable(), &getScalesMutable()})
    effects.emplace_back(MemoryEffects::Read::get(), read, resource);
  for (OpOperand &output : getOutputMutable())
    effects.emplace_back(MemoryEffects::Write::get(), &output, resource);
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

LogicalResult ScaleBlocksOp::verify() {
  bool onTensors = isOnTensors();
  // scale_blocks-C1
  if (onTensors != isa<TensorType>(getScales().getType()) ||
      onTensors == static_cast<bool>(getOutput()) ||
      onTensors != static_cast<bool>(getResult()))
    return emitOpError("takes tensors and gives a tensor, or takes memrefs and "
                       "writes to a memref: operands are (")
           << getOperandTypes() << "), results (" << (*this)->getResultTypes()
           << ")";
  auto x = cast<ShapedType>(getX().getType());
  auto scales = cast<ShapedType>(getScales().getType());
  auto given = cast<ShapedType>(
      (onTensors ? Value(getResult()) : Value(getOutput())).getType());
  // scale_blocks-C2; f64 in the reference
  bool isByte = isNarrowFloat(x.getElementType());
  if (x.getRank() != 2 || x.isDynamicDim(1) ||
      !(isByte || x.getElementType().isF64()))
    return emitOpError("scales x [R, C] of 8 bits, with C known, but x is ")
           << x;
  // scale_blocks-C3
  if (x.isDynamicDim(0) && getRows() != 1)
    return emitOpError("takes blocks of ")
           << getRows() << " rows of an x of static shape, but x is " << x;
  // scale_blocks-C4
  Type element =
      isByte ? Type(Float32Type::get(getContext())) : x.getElementType();
  int64_t m = x.getDimSize(0), k = x.getDimSize(1);
  auto rows = static_cast<int64_t>(getRows());
  auto columns = static_cast<int64_t>(getColumns());
  SmallVector<int64_t> blocks{
      static_cast<int64_t>(x.isDynamicDim(0) ? m : llvm::divideCeil(m, rows)),
      static_cast<int64_t>(llvm::divideCeil(k, columns))};
  bool isOfBlocks =
      scales.getRank() == 1
          ? !x.isDynamicDim(0) && scales.getDimSize(0) == blocks[0] * blocks[1]
          : scales.getShape() == ArrayRef(blocks);
  if (scales.getElementType() != element || !isOfBlocks)
    return emitOpError("has a scale for each block of ")
           << getRows() << " by " << getColumns() << ": expected "
           << RankedTensorType::get(blocks, element) << " for x " << x
           << ", but they are " << scales;
  // scale_blocks-C5
  if (given.getElementType() != element || given.getShape() != x.getShape())
    return emitOpError("gives ") << RankedTensorType::get(x.getShape(), element)
                                 << " of x " << x << ", but has " << given;
  return success();
}

//===----------------------------------------------------------------------===//
// Layers
//===----------------------------------------------------------------------===//

ScaledOperands tenon::findScaledOperands(LinearLikeOp layer) {
  auto find = [&](Value operand, int64_t rows) {
    auto scale = operand.getDefiningOp<ScaleBlocksOp>();
    bool isTaken = scale && static_cast<int64_t>(scale.getRows()) == rows &&
                   scale.getColumns() == ScaleBlocksOp::kBlock;
    return isTaken ? scale : ScaleBlocksOp();
  };
  std::optional<Precision> precision = layer.getPrecision();
  if (!precision || precision == Precision::FP32 ||
      layer.getLayout().value_or(OperandLayout::MK_NK) != OperandLayout::MK_NK)
    return {};
  ScaledOperands scaled{find(layer.getX(), 1),
                        find(layer.getW(), ScaleBlocksOp::kBlock)};
  if (!scaled.x || !scaled.w ||
      getElementTypeOrSelf(scaled.x.getX()) !=
          getElementTypeOrSelf(scaled.w.getX()))
    return {};
  return scaled;
}

Type tenon::getMultipliedType(LinearLikeOp layer, ProductMethod method) {
  if (method == ProductMethod::FP8)
    if (ScaledOperands scaled = findScaledOperands(layer))
      return getElementTypeOrSelf(scaled.x.getX());
  return layer.getInputType();
}

//===----------------------------------------------------------------------===//
// Bufferization
//===----------------------------------------------------------------------===//

namespace {
struct ScaleBlocksBufferization
    : tenon::detail::NewBuffersModel<ScaleBlocksBufferization, ScaleBlocksOp> {
  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const bufferization::BufferizationOptions &options,
                          bufferization::BufferizationState &state) const {
    auto scale = cast<ScaleBlocksOp>(op);
    if (!scale.isOnTensors())
      return success();
    auto buffers =
        tenon::detail::getOperandBuffers(op, rewriter, options, state);
    if (failed(buffers))
      return failure();
    Value x = (*buffers)[0];
    SmallVector<Value> extents;
    if (cast<MemRefType>(x.getType()).isDynamicDim(0))
      extents.push_back(memref::DimOp::create(rewriter, op->getLoc(), x, 0));
    FailureOr<SmallVector<Value>> results =
        tenon::detail::allocateResults(op, extents, rewriter, options);
    if (failed(results))
      return failure();
    ScaleBlocksOp::create(rewriter, op->getLoc(), /*result=*/Type(), x,
                          (*buffers)[1], results->front(), scale.getRows(),
                          scale.getColumns());
    bufferization::replaceOpWithBufferizedValues(rewriter, op, *results);
    return success();
  }
};
} // namespace

void tenon::detail::attachScaleBlocksBufferization(MLIRContext &context) {
  ScaleBlocksOp::attachInterface<ScaleBlocksBufferization>(context);
}
