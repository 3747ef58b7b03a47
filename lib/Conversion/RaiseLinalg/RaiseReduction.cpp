//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reductions of rows, and sums of columns.
//
//===----------------------------------------------------------------------===//

#include "BodyLifter.h"

#include "tenon/Dialect/Tenon/IR/Tenon.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::tenon;

static std::optional<RowReduction> getKind(Operation *combiner) {
  if (isa<arith::AddFOp>(combiner))
    return RowReduction::Sum;
  if (isa<arith::MaximumFOp, arith::MaxNumFOp>(combiner))
    return RowReduction::Max;
  if (isa<arith::MinimumFOp, arith::MinNumFOp>(combiner))
    return RowReduction::Min;
  return std::nullopt;
}

/// Whether combining with `number` changes nothing.
static bool isNeutral(RowReduction kind, TypedAttr number) {
  auto value = dyn_cast_or_null<FloatAttr>(number);
  if (!value)
    return false;
  const APFloat &x = value.getValue();
  if (kind == RowReduction::Sum)
    return x.isZero();
  return x.isNegative() == (kind == RowReduction::Max) &&
         (x.isInfinity() || x.isLargest());
}

SmallVector<Value> Raiser::raiseReduction() {
  SmallVector<Value> none;
  std::optional<Loops> loops = getLoops();
  if (!loops)
    return none;
  auto refuseReduction = [&] {
    return refuse(ReasonCode::OtherReduction), none;
  };
  auto iterators = op.getIteratorTypesArray();
  auto isReduced = [&](unsigned loop) {
    return iterators[loop] == utils::IteratorType::reduction;
  };
  if (loops->size() != 2 || op->getNumResults() != 1 ||
      llvm::count_if(*loops, isReduced) != 1)
    return refuseReduction();

  // The body combines what it computes of the inputs with what there is.
  Operation *combiner =
      op.getBlock()->getTerminator()->getOperand(0).getDefiningOp();
  std::optional<RowReduction> kind =
      combiner ? getKind(combiner) : std::nullopt;
  BlockArgument sofar = op.getRegionOutputArgs()[0];
  if (!kind || !sofar.hasOneUse() || *sofar.user_begin() != combiner)
    return refuseReduction();
  Value element = combiner->getOperand(combiner->getOperand(0) == sofar);

  // Rows are what the inputs lie in.
  OpOperand *first = op.getDpsInputOperand(0);
  View view = lookThrough({first->get(), op.getMatchingIndexingMap(first)});
  auto find = [&](unsigned loop) {
    return view.map.getResultPosition(getAffineDimExpr(loop, op->getContext()))
        .value_or(0);
  };
  if (find((*loops)[0]) > find((*loops)[1]))
    std::swap((*loops)[0], (*loops)[1]);
  bool isOfRows = isReduced((*loops)[1]);
  if (!isOfRows && *kind != RowReduction::Sum)
    return refuseReduction();

  llvm::DenseMap<Value, Lifted> arguments;
  View init = getInit(op);
  TypedAttr number = getNumber(init.tensor);
  if (!liftArguments(*loops, arguments))
    return none;
  Lifted initial = arguments.lookup(sofar);
  BodyLifter lifter(builder, op.getBlock(), std::move(arguments));
  std::optional<Lifted> value = lifter.lift(element);
  if (!value) {
    obstacle = lifter.getObstacle();
    return none;
  }
  if (!value->tensor || !isTenonTensor(value->tensor.getType()) ||
      !isOfAll(value->tensor, *loops))
    return refuseReduction();
  auto matrix = cast<RankedTensorType>(value->tensor.getType());
  Value reduced =
      isOfRows
          ? ReduceRowOp::create(builder, loc, *kind, value->tensor).getResult()
          : BatchSumOp::create(
                builder, loc,
                matrix.clone(ArrayRef<int64_t>{matrix.getDimSize(1)}),
                value->tensor, Value(), IntegerAttr())
                .getResult();
  if (!isNeutral(*kind, number)) {
    BodyLifter rest(builder, op.getBlock(),
                    {{sofar, initial}, {element, Lifted{reduced, {}}}});
    std::optional<Lifted> combined = rest.lift(combiner->getResult(0));
    if (!combined) {
      obstacle = rest.getObstacle();
      return none;
    }
    reduced = combined->tensor;
  }
  Value result = toResult(reduced, op->getResult(0));
  return result ? SmallVector<Value>{result} : none;
}
