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
#include "tenon/Schedule/Checks/Schedule.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::tenon;
using llvm::formatv;

static RowParts::Results getResults(Block &body) {
  RowParts::Results results;
  for (ReduceRowOp op : body.getOps<ReduceRowOp>())
    results[op.getResult()] = op;
  return results;
}

RowParts::RowParts(Block &body) : RowParts(body, ::getResults(body)) {}

RowParts::RowParts(Block &body, Results given) : results(std::move(given)) {
  for (auto [result, op] : results)
    reduced.insert(result);
  for (Operation &op : body)
    if (llvm::any_of(op.getOperands(),
                     [&](Value value) { return reduced.contains(value); }))
      reduced.insert_range(op.getResults());
}

/// `value` before casts, which within a region round nothing.
static Value lookThroughCasts(Value value) {
  while (auto cast = value.getDefiningOp<CastOp>())
    value = cast.getInput();
  return value;
}

/// What is squared; null if nothing is.
static Value findSquared(Value value) {
  auto mul = value.getDefiningOp<MulOp>();
  bool isSquare =
      mul && mul.getOther() &&
      lookThroughCasts(mul.getInput()) == lookThroughCasts(mul.getOther());
  return isSquare ? mul.getInput() : Value();
}

std::optional<RowPart> RowParts::findAny(ReduceRowOp op) const {
  if (!isReduced(op.getInput()))
    return RowPart{op.getInput(), Value()};
  if (op.getKind() != RowReduction::Sum && op.getKind() != RowReduction::Mean)
    return std::nullopt;
  Value reducedOf = lookThroughCasts(op.getInput());
  Value squared = findSquared(reducedOf);
  auto exp = reducedOf.getDefiningOp<ExpOp>();
  if (!squared && !exp)
    return std::nullopt;
  Value distance = squared ? squared : Value(exp.getInput());
  auto sub = lookThroughCasts(distance).getDefiningOp<SubOp>();
  if (!sub || !sub.getOther())
    return std::nullopt;
  Value input = sub.getInput(), shift = lookThroughCasts(sub.getOther());
  if (auto repeat = shift.getDefiningOp<RepeatColumnsOp>())
    shift = lookThroughCasts(repeat.getInput());
  ArrayRef<int64_t> ofShift =
      cast<RankedTensorType>(shift.getType()).getShape();
  bool isOfRows = !EpiloguePlan::variesByColumn(shift.getType()) ||
                  ofShift == op.getType().getShape();
  if (isReduced(input) || !isOfRows ||
      cast<RankedTensorType>(input.getType()).getShape() !=
          op.getInput().getType().getShape())
    return std::nullopt;
  if (!squared)
    return RowPart{input, shift};
  ReduceRowOp mean = results.lookup(shift);
  if (!mean || mean.getKind() != RowReduction::Mean ||
      lookThroughCasts(mean.getInput()) != lookThroughCasts(input))
    return std::nullopt;
  return RowPart{input, shift, /*isSquare=*/true};
}

std::optional<RowPart> RowParts::find(ReduceRowOp op) const {
  std::optional<RowPart> part = findAny(op);
  return part && !part->isSquare ? part : std::nullopt;
}

int64_t tenon::getReducedColumns(LinearLikeOp layer) {
  auto reductions = layer.getEpilogueBody()->getOps<ReduceRowOp>();
  return (*reductions.begin()).getGroupColumns();
}

/// Says what keeps a reduction from parts, `but` which they could give.
static std::string describeUnmet(ReduceRowOp op, StringRef but) {
  return formatv("'{0} {1}' reduces what depends on another reduction, other "
                 "than {2}",
                 op->getName(), stringifyRowReduction(op.getKind()), but);
}

std::string tenon::findNumbersProblem(Block &body) {
  for (ReduceRowOp op : body.getOps<ReduceRowOp>())
    if (op.getNumbers())
      return formatv(
          "'{0}' takes numbers, and in a tile columns alone have one",
          op->getName());
  return "";
}

std::string tenon::findRowExchangeProblem(LinearLikeOp layer) {
  Block *body = layer.getEpilogueBody();
  if (!body || body->getOps<ReduceRowOp>().empty())
    return "the layer reduces no rows";
  auto reductions = body->getOps<ReduceRowOp>();
  if (std::distance(reductions.begin(), reductions.end()) >
      kMaxExchangedNumbers)
    return formatv("tiles exchange {0} numbers a row, one for each reduction",
                   kMaxExchangedNumbers);
  for (ReduceRowOp op : reductions)
    if (op.givesPlace())
      return "tiles exchange no places, as of an argmax";
  RowParts parts(*body);
  for (ReduceRowOp op : reductions)
    if (!parts.findAny(op))
      return describeUnmet(op, "a sum of exp(x - v) with v of one value a row, "
                               "or of squared distances from the mean");
  return "";
}

std::string tenon::findRowPartsProblem(LinearLikeOp layer) {
  Block *body = layer.getEpilogueBody();
  if (!body || body->getOps<ReduceRowOp>().empty())
    return "the layer reduces no rows";
  if (layer.getProductType().getDimSize(1) != getReducedColumns(layer))
    return "the layer reduces groups of a row's columns";
  if (std::string problem = findNumbersProblem(*body); !problem.empty())
    return problem;
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
        return describeUnmet(reduction,
                             "a sum of exp(x - v) with v of one value a row");
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
