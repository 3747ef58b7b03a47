//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Products of two matrices.
//
//===----------------------------------------------------------------------===//

#include "Raiser.h"

#include "tenon/Dialect/Tenon/IR/Tenon.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::tenon;

/// The one of `loops` that has more than one iteration, or any if none has; not
/// `isOne` if several have.
std::optional<unsigned> Raiser::getOnlyLoop(ArrayRef<unsigned> loops,
                                            bool &isOne) {
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  std::optional<unsigned> found;
  for (unsigned loop : loops) {
    if (extents[loop] == 1 && found)
      continue;
    isOne &= !found || extents[*found] == 1;
    found = loop;
  }
  return found;
}

Value Raiser::getMatrix(View view, std::optional<unsigned> rows,
                        std::optional<unsigned> columns, bool &isTransposed) {
  view = lookThrough(view);
  auto find = [&](std::optional<unsigned> loop) {
    return loop ? view.map.getResultPosition(
                      getAffineDimExpr(*loop, op->getContext()))
                : std::nullopt;
  };
  std::optional<unsigned> row = find(rows), column = find(columns);
  isTransposed = row && column && *row > *column;
  if (isTransposed)
    std::swap(rows, columns);
  Loops loops;
  for (std::optional<unsigned> loop : {rows, columns})
    if (loop)
      loops.push_back(*loop);
  Value matrix = arrange(view, loops);
  if (!matrix)
    return {};
  auto type = cast<RankedTensorType>(matrix.getType());
  if (type.getRank() == 2)
    return matrix;
  // A row that is looked through to its elements.
  SmallVector<int64_t> shape(2 - type.getRank(), 1);
  llvm::append_range(shape, type.getShape());
  matrix = reshape(builder, loc, matrix, type.clone(shape));
  return matrix ? matrix : refuse(ReasonCode::NoProduct);
}

SmallVector<Value> Raiser::raiseProduct() {
  SmallVector<Value> none;
  FailureOr<linalg::ContractionDimensions> dims =
      linalg::inferContractionDims(op);
  bool isOne = true;
  std::optional<unsigned> batch = getOnlyLoop(dims->batch, isOne);
  std::optional<unsigned> m = getOnlyLoop(dims->m, isOne);
  std::optional<unsigned> n = getOnlyLoop(dims->n, isOne);
  std::optional<unsigned> k = getOnlyLoop(dims->k, isOne);
  if (!isOne || (batch && op.getStaticLoopRanges()[*batch] != 1) || !k)
    return refuse(ReasonCode::NoProduct), none;

  OpOperand *x = op.getDpsInputOperand(0), *w = op.getDpsInputOperand(1);
  View init = getInit(op);
  auto find = [&](std::optional<unsigned> loop) {
    return loop ? init.map.getResultPosition(
                      getAffineDimExpr(*loop, op->getContext()))
                : std::nullopt;
  };
  // The result's rows are those of x.
  if (find(m) && find(n) && *find(m) > *find(n)) {
    std::swap(x, w);
    std::swap(m, n);
  }
  bool isXTurned, isWTurned;
  Value rows =
      getMatrix({x->get(), op.getMatchingIndexingMap(x)}, m, k, isXTurned);
  Value columns = rows ? getMatrix({w->get(), op.getMatchingIndexingMap(w)}, n,
                                   k, isWTurned)
                       : Value();
  if (!columns)
    return none;
  auto xType = cast<RankedTensorType>(rows.getType());
  auto wType = cast<RankedTensorType>(columns.getType());
  if (!wType.hasStaticShape() || (isXTurned && !xType.hasStaticShape()))
    return refuse(ReasonCode::DynamicFactor), none;
  Type element = getElementTypeOrSelf(op->getResult(0).getType());
  if (xType.getElementType() != wType.getElementType() ||
      (element != xType.getElementType() &&
       !(element.isF32() &&
         (xType.getElementType().isF16() || xType.getElementType().isBF16()))))
    return refuse(ReasonCode::NoProduct), none;

  auto type = RankedTensorType::get({xType.getDimSize(isXTurned ? 1 : 0),
                                     wType.getDimSize(isWTurned ? 1 : 0)},
                                    element);
  Value bias, addend;
  if (TypedAttr number = getNumber(init.tensor);
      !number || !matchPattern(number, m_AnyZeroFloat())) {
    if (!m || !n)
      return refuse(ReasonCode::NoProduct), none;
    addend = arrange(init, {*m, *n});
    if (!addend)
      return none;
    if (cast<RankedTensorType>(addend.getType()).getShape() ==
        ArrayRef<int64_t>{type.getDimSize(1)})
      std::swap(bias, addend);
  }
  auto layout = OperandLayout(isXTurned * 2 + isWTurned);
  auto layoutAttr = layout == OperandLayout::MK_NK
                        ? OperandLayoutAttr()
                        : OperandLayoutAttr::get(op->getContext(), layout);
  Value product =
      LinearOp::create(builder, loc, type, rows, columns, bias, PrecisionAttr(),
                       layoutAttr, StrategyAttr(), ScheduleAttr());
  if (addend) {
    if (!broadcastShapes(type.getShape(),
                         cast<RankedTensorType>(addend.getType()).getShape()))
      return refuse(ReasonCode::OtherShapes, "a sum"), none;
    product = AddOp::create(builder, loc, product, addend);
  }
  Value result = toResult(product, op->getResult(0));
  return result ? SmallVector<Value>{result} : none;
}
