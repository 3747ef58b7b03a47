//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Elementwise linalg.generic ops with NumPy's broadcasting.
//
//===----------------------------------------------------------------------===//

#include "LinalgMap.h"

using namespace mlir;
using namespace mlir::tenon;

Value tenon::convertFloat(OpBuilder &builder, Location loc, Value value,
                          Type type) {
  unsigned from = value.getType().getIntOrFloatBitWidth();
  unsigned to = type.getIntOrFloatBitWidth();
  if (from < to)
    return arith::ExtFOp::create(builder, loc, type, value);
  // No CPU rounds f64 to 16 bits in one instruction.
  if (from == 64 && to == 16)
    value = arith::TruncFOp::create(builder, loc, builder.getF32Type(), value);
  if (from > to)
    return arith::TruncFOp::create(builder, loc, type, value);
  return value;
}

OpFoldResult tenon::getExtent(OpBuilder &builder, Location loc, Value tensor,
                              int64_t dim) {
  while (auto op = tensor.getDefiningOp<DestinationStyleOpInterface>())
    tensor = op.getTiedOpOperand(cast<OpResult>(tensor))->get();
  if (auto empty = tensor.getDefiningOp<tensor::EmptyOp>())
    return empty.getMixedSizes()[dim];
  return tensor::getMixedSize(builder, loc, tensor, dim);
}

AffineMap tenon::getBroadcastMap(MLIRContext *context, ArrayRef<int64_t> shape,
                                 ArrayRef<int64_t> loopShape) {
  unsigned loops = loopShape.size();
  unsigned skipped = loops - shape.size();
  SmallVector<AffineExpr> results;
  for (auto [index, extent] : llvm::enumerate(shape)) {
    unsigned loop = index + skipped;
    AffineExpr place = getAffineDimExpr(loop, context);
    if (extent == 1 && loopShape[loop] != 1)
      place = getAffineConstantExpr(0, context);
    else if (extent != loopShape[loop]) // one element for several of the loop
      place = place.floorDiv(loopShape[loop] / extent);
    results.push_back(place);
  }
  return AffineMap::get(loops, /*symbolCount=*/0, results, context);
}

/// The extents of the loops: a dynamic one is an input's.
static SmallVector<OpFoldResult> getLoopExtents(OpBuilder &builder,
                                                Location loc, ValueRange inputs,
                                                ArrayRef<int64_t> shape) {
  SmallVector<OpFoldResult> extents =
      getAsIndexOpFoldResult(builder.getContext(), SmallVector<int64_t>(shape));
  for (auto [loop, extent] : llvm::enumerate(shape)) {
    if (!ShapedType::isDynamic(extent))
      continue;
    for (Value input : inputs) {
      auto type = cast<RankedTensorType>(input.getType());
      int64_t dim = static_cast<int64_t>(loop + type.getRank() - shape.size());
      if (dim < 0 || !type.isDynamicDim(dim))
        continue;
      extents[loop] = getExtent(builder, loc, input, dim);
      break;
    }
  }
  return extents;
}

SmallVector<Value> tenon::emitMap(OpBuilder &builder, Location loc,
                                  ValueRange inputs, ArrayRef<int64_t> shape,
                                  TypeRange elementTypes, MapBody body) {
  MLIRContext *context = builder.getContext();
  SmallVector<AffineMap> maps;
  for (Value input : inputs)
    maps.push_back(getBroadcastMap(
        context, cast<RankedTensorType>(input.getType()).getShape(), shape));
  SmallVector<OpFoldResult> extents =
      getLoopExtents(builder, loc, inputs, shape);
  SmallVector<Value> outputs;
  SmallVector<Type> types;
  for (Type elementType : elementTypes) {
    maps.push_back(builder.getMultiDimIdentityMap(shape.size()));
    outputs.push_back(
        tensor::EmptyOp::create(builder, loc, extents, elementType));
    types.push_back(outputs.back().getType());
  }
  SmallVector<utils::IteratorType> iterators(shape.size(),
                                             utils::IteratorType::parallel);
  auto generic = linalg::GenericOp::create(
      builder, loc, types, inputs, outputs, maps, iterators,
      [&](OpBuilder &nested, Location bodyLoc, ValueRange elements) {
        SmallVector<Value> results =
            body(nested, bodyLoc, elements.take_front(inputs.size()));
        linalg::YieldOp::create(nested, bodyLoc, results);
      });
  return llvm::to_vector_of<Value>(generic.getResults());
}
