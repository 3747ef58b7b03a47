//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reductions along N.
//
//===----------------------------------------------------------------------===//

#include "ScalarEmitter.h"

#include "tenon/Dialect/Tenon/IR/Tenon.h"

#include <limits>

using namespace mlir;
using namespace mlir::tenon;

/// An attribute of an op whose types are inferred; 1 if it is not given. The
/// parser has it in a dictionary yet, and at most the default among properties.
template <typename PropertiesT>
static int64_t getInferred(DictionaryAttr attributes, StringRef name,
                           OpaqueProperties properties,
                           IntegerAttr PropertiesT::*member) {
  if (attributes)
    if (auto given = attributes.getAs<IntegerAttr>(name))
      return given.getInt();
  IntegerAttr property =
      properties ? properties.as<PropertiesT *>()->*member : IntegerAttr();
  return property ? property.getInt() : 1;
}

LogicalResult
ReduceRowOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                              ValueRange operands, DictionaryAttr attributes,
                              OpaqueProperties properties, RegionRange,
                              SmallVectorImpl<Type> &types) {
  auto input = dyn_cast<RankedTensorType>(operands[0].getType());
  // reduce_row-C1
  if (!input || input.getRank() != 2)
    return emitOptionalError(loc, "'", getOperationName(),
                             "' op reduces the rows of a matrix [M, N], but is "
                             "given ",
                             operands[0].getType());
  // reduce_row-C2
  int64_t groups =
      getInferred(attributes, "groups", properties, &Properties::groups);
  if (groups < 1 || input.isDynamicDim(1) || input.getDimSize(1) % groups != 0)
    return emitOptionalError(loc, "'", getOperationName(),
                             "' op reduces equal groups of columns, but is to "
                             "make ",
                             groups, " of ", input);
  types.push_back(RankedTensorType::get({input.getDimSize(0), groups},
                                        input.getElementType()));
  return success();
}

LogicalResult RepeatColumnsOp::inferReturnTypes(
    MLIRContext *, std::optional<Location> loc, ValueRange operands,
    DictionaryAttr attributes, OpaqueProperties properties, RegionRange,
    SmallVectorImpl<Type> &types) {
  auto input = dyn_cast<RankedTensorType>(operands[0].getType());
  // repeat_columns-C1
  if (!input || input.getRank() != 2 || input.isDynamicDim(1))
    return emitOptionalError(loc, "'", getOperationName(),
                             "' op repeats the columns of a matrix [M, G], "
                             "but is given ",
                             operands[0].getType());
  int64_t times =
      getInferred(attributes, "times", properties, &Properties::times);
  types.push_back(
      RankedTensorType::get({input.getDimSize(0), input.getDimSize(1) * times},
                            input.getElementType()));
  return success();
}

OpFoldResult RepeatColumnsOp::fold(FoldAdaptor) {
  return getTimes() == 1 ? getInput() : Value();
}

LogicalResult RowPartsOp::verify() {
  // row_parts-C1
  auto layer = dyn_cast_or_null<TiledLinearOp>((*this)->getParentOp());
  if (!layer || !llvm::all_of(getResult().getUsers(), llvm::IsaPred<YieldOp>))
    return emitOpError("stands in a tenon.tiled_linear, whose yield alone uses "
                       "it");
  // row_parts-C2
  ProductExtents extents = layer.getExtents();
  int64_t columns = getColumns();
  auto expected = RankedTensorType::get(
      {extents.m, static_cast<int64_t>(llvm::divideCeil(extents.n, columns))},
      Float32Type::get(getContext()));
  auto input = expected.clone({extents.m, int64_t(1)});
  if (getInput().getType() != input || getType() != expected)
    return emitOpError("gives ")
           << expected << " of " << input << " for each " << columns << " of "
           << extents.n << " columns, but is given " << getInput().getType()
           << " and gives " << getType();
  return success();
}

OpFoldResult ReduceRowOp::fold(FoldAdaptor) {
  return getInput().getType() == getType() ? getInput() : Value();
}

Value ReduceRowOp::emitNeutral(OpBuilder &builder, Type type) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  double value = getKind() == RowReduction::Max   ? -infinity
                 : getKind() == RowReduction::Min ? infinity
                                                  : 0.0;
  return ScalarEmitter(builder, getLoc(), type).constant(value);
}

Value ReduceRowOp::emitCombine(OpBuilder &builder, Value a, Value b) {
  switch (getKind()) {
  case RowReduction::Sum:
  case RowReduction::Mean:
    return ScalarEmitter(builder, getLoc(), a.getType()).add(a, b);
  case RowReduction::Max:
    return arith::MaximumFOp::create(builder, getLoc(), a, b);
  case RowReduction::Min:
    return arith::MinimumFOp::create(builder, getLoc(), a, b);
  }
  llvm_unreachable("all kinds are above");
}

Value ReduceRowOp::emitFinish(OpBuilder &builder, Value combined) {
  if (getKind() != RowReduction::Mean)
    return combined;
  ScalarEmitter e(builder, getLoc(), combined.getType());
  return e.div(combined, e.constant(getGroupColumns()));
}
