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

LogicalResult ReduceRowOp::inferReturnTypes(MLIRContext *,
                                            std::optional<Location> loc,
                                            ValueRange operands, DictionaryAttr,
                                            OpaqueProperties, RegionRange,
                                            SmallVectorImpl<Type> &types) {
  auto input = dyn_cast<RankedTensorType>(operands[0].getType());
  // reduce_row-C1
  if (!input || input.getRank() != 2)
    return emitOptionalError(loc, "'", getOperationName(),
                             "' op reduces the rows of a matrix [M, N], but is "
                             "given ",
                             operands[0].getType());
  types.push_back(
      RankedTensorType::get({input.getDimSize(0), 1}, input.getElementType()));
  return success();
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
  return e.div(combined, e.constant(getInput().getType().getDimSize(1)));
}
