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
  Type element = input.getElementType();
  Attribute kind = attributes ? attributes.get("kind") : Attribute();
  if (!kind && properties)
    kind = properties.as<Properties *>()->kind;
  if (auto given = dyn_cast_or_null<RowReductionAttr>(kind);
      given && isPlace(given.getValue()))
    element = getComputeType(element);
  types.push_back(
      RankedTensorType::get({input.getDimSize(0), groups}, element));
  return success();
}

void ReduceRowOp::build(OpBuilder &builder, OperationState &state,
                        RowReduction kind, Value input, int64_t groups) {
  build(builder, state, kind, input, /*numbers=*/Value(), groups);
}

LogicalResult ReduceRowOp::verify() {
  RankedTensorType input = getInput().getType();
  if (!getNumbers()) {
    // reduce_row-C3
    if (givesPlace() && input.getDimSize(1) > kMaxNumberedColumns &&
        !input.getElementType().isF64())
      return emitOpError("numbers columns in f32, which tells ")
             << kMaxNumberedColumns << " apart, but has " << input.getDimSize(1)
             << "; give numbers";
    return success();
  }
  // reduce_row-C4
  if (!givesPlace())
    return emitOpError("gives no place, so it takes no numbers");
  auto expected = input.clone(getComputeType(input.getElementType()));
  if (getNumbers().getType() != expected)
    return emitOpError("takes numbers ")
           << expected << ", but is given " << getNumbers().getType();
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
  bool isSame = getInput().getType() == getType() && !givesPlace();
  return isSame ? getInput() : Value();
}

ReduceRowOp::State ReduceRowOp::emitNeutral(OpBuilder &builder, Type type) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  ScalarEmitter e(builder, getLoc(), type);
  switch (getKind()) {
  case RowReduction::Sum:
  case RowReduction::Mean:
    return {e.constant(0.0)};
  case RowReduction::Max:
    return {e.constant(-infinity)};
  case RowReduction::Min:
    return {e.constant(infinity)};
  case RowReduction::ArgMax:
    return {e.constant(-infinity), e.constant(infinity)};
  case RowReduction::ArgMin:
    return {e.constant(infinity), e.constant(infinity)};
  }
  llvm_unreachable("all kinds are above");
}

/// A NaN is ahead of all else, and of equal elements the one of the smaller
/// number.
static ReduceRowOp::State emitAhead(OpBuilder &builder, ReduceRowOp op,
                                    ValueRange a, ValueRange b, bool isLater) {
  using Predicate = arith::CmpFPredicate;
  auto compare = [&](Predicate predicate, Value x, Value y) -> Value {
    return arith::CmpFOp::create(builder, op.getLoc(), predicate, x, y);
  };
  auto both = [&](Value x, Value y) -> Value {
    return arith::AndIOp::create(builder, op.getLoc(), x, y);
  };
  bool isMax = op.getKind() == RowReduction::ArgMax;
  Value takesB =
      both(compare(isMax ? Predicate::UGT : Predicate::ULT, b[0], a[0]),
           compare(Predicate::ORD, a[0], a[0]));
  if (!isLater) {
    Value areNaN = both(compare(Predicate::UNO, a[0], a[0]),
                        compare(Predicate::UNO, b[0], b[0]));
    Value isTie = arith::OrIOp::create(builder, op.getLoc(), areNaN,
                                       compare(Predicate::OEQ, a[0], b[0]));
    takesB =
        arith::OrIOp::create(builder, op.getLoc(), takesB,
                             both(isTie, compare(Predicate::OLT, b[1], a[1])));
  }
  ReduceRowOp::State result;
  for (auto [x, y] : llvm::zip_equal(a, b))
    result.push_back(
        arith::SelectOp::create(builder, op.getLoc(), takesB, y, x));
  return result;
}

ReduceRowOp::State ReduceRowOp::emitCombine(OpBuilder &builder, ValueRange a,
                                            ValueRange b, bool isLater) {
  switch (getKind()) {
  case RowReduction::Sum:
  case RowReduction::Mean:
    return {ScalarEmitter(builder, getLoc(), a[0].getType()).add(a[0], b[0])};
  case RowReduction::Max:
    return {arith::MaximumFOp::create(builder, getLoc(), a[0], b[0])};
  case RowReduction::Min:
    return {arith::MinimumFOp::create(builder, getLoc(), a[0], b[0])};
  case RowReduction::ArgMax:
  case RowReduction::ArgMin:
    return emitAhead(builder, *this, a, b, isLater);
  }
  llvm_unreachable("all kinds are above");
}

Value ReduceRowOp::emitFinish(OpBuilder &builder, ValueRange combined) {
  if (getKind() != RowReduction::Mean)
    return combined.back();
  ScalarEmitter e(builder, getLoc(), combined[0].getType());
  return e.div(combined[0], e.constant(getGroupColumns()));
}
