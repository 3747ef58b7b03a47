//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which reductions of rows follow from those of parts of them.
//
//===----------------------------------------------------------------------===//

#include "tenon/Schedule/Checks/RowParts.h"

#include "tenon/Dialect/Tenon/Analysis/EpiloguePlan.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::tenon;
using llvm::formatv;

RowParts::RowParts(Block &body) {
  for (Operation &op : body)
    if (isa<ReduceRowOp>(op) ||
        llvm::any_of(op.getOperands(),
                     [&](Value value) { return reduced.contains(value); }))
      reduced.insert_range(op.getResults());
}

/// `value` before casts, which within a region round nothing.
static Value lookThroughCasts(Value value) {
  while (auto cast = value.getDefiningOp<CastOp>())
    value = cast.getInput();
  return value;
}

std::optional<RowPart> RowParts::find(ReduceRowOp op) const {
  if (!isReduced(op.getInput()))
    return RowPart{op.getInput(), Value()};
  if (op.getKind() != RowReduction::Sum && op.getKind() != RowReduction::Mean)
    return std::nullopt;
  auto exp = lookThroughCasts(op.getInput()).getDefiningOp<ExpOp>();
  if (!exp)
    return std::nullopt;
  auto sub = lookThroughCasts(exp.getInput()).getDefiningOp<SubOp>();
  if (!sub || !sub.getOther())
    return std::nullopt;
  Value input = sub.getInput(), shift = sub.getOther();
  if (isReduced(input) || EpiloguePlan::variesByColumn(shift.getType()) ||
      cast<RankedTensorType>(input.getType()).getShape() !=
          op.getInput().getType().getShape())
    return std::nullopt;
  return RowPart{input, shift};
}

std::string tenon::findRowPartsProblem(LinearLikeOp layer) {
  Block *body = layer.getEpilogueBody();
  if (!body || body->getOps<ReduceRowOp>().empty())
    return "the layer reduces no rows";
  RowParts parts(*body);
  SmallVector<Value> pending;
  for (auto [index, value] :
       llvm::enumerate(body->getTerminator()->getOperands())) {
    if (!TiledLinearOp::isOfRows(value))
      return formatv("result #{0} is not of one value a row", index);
    pending.push_back(value);
  }
  llvm::SmallPtrSet<Value, 16> seen;
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    Operation *op = value.getDefiningOp();
    if (auto reduction = dyn_cast_or_null<ReduceRowOp>(op)) {
      std::optional<RowPart> part = parts.find(reduction);
      if (!part)
        return formatv("'{0} {1}' reduces what depends on another reduction, "
                       "other than a sum of exp(x - v) with v of one value a "
                       "row",
                       reduction->getName(),
                       stringifyRowReduction(reduction.getKind()));
      if (part->shift)
        pending.push_back(part->shift);
      continue;
    }
    if (EpiloguePlan::variesByColumn(value.getType()))
      return "what follows the reductions reads more than a value a row";
    if (op)
      llvm::append_range(pending, op->getOperands());
  }
  return "";
}
