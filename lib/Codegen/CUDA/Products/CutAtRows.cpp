//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Cuts layers at their reductions of rows.
//
//===----------------------------------------------------------------------===//

#include "CutAtRows.h"

#include "RestEpilogue.h"

#include "tenon/Schedule/Checks/RowParts.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"

#include <limits>

using namespace mlir;
using namespace mlir::tenon;

/// A mean is a sum until all of it is there.
static RowReduction getKindOfParts(ReduceRowOp op) {
  return op.getKind() == RowReduction::Mean ? RowReduction::Sum : op.getKind();
}

/// A maximum, or what is next to it where it is infinite: what is subtracted
/// from it is then no NaN.
static Value createBound(OpBuilder &b, Location loc, Value maximum) {
  double largest = std::numeric_limits<float>::max();
  return ClampOp::create(b, loc, maximum.getType(), maximum,
                         b.getF64FloatAttr(-largest),
                         b.getF64FloatAttr(largest));
}

static Value createF32(OpBuilder &b, Location loc, Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getElementType().isF32())
    return value;
  return CastOp::create(b, loc, type.clone(b.getF32Type()), value);
}

namespace {
/// Builds both layers side by side.
class RowCut {
public:
  RowCut(FusedLinearOp op, int64_t columns, RewriterBase &rewriter);

  FusedLinearOp run();

private:
  Value getPart(RowReduction kind, Value input);
  Value addPart(Value ofTile);
  Value createWhole(ReduceRowOp op, const RowPart &part);

  FusedLinearOp op, product;
  RewriterBase &rewriter;
  RowParts parts;
  IRMapping copies; ///< from `op` to `product`
  int64_t n, columns;
  RankedTensorType partsType;
  /// What is yielded of a matrix of `op` already, as the argument of the rest,
  /// and within the product's region.
  struct Known {
    Value argument, ofTile;
  };
  llvm::MapVector<std::pair<Value, RowReduction>, Known> known;
  SmallVector<Value> yielded; ///< by the product
};
} // namespace

RowCut::RowCut(FusedLinearOp op, int64_t columns, RewriterBase &rewriter)
    : op(op), rewriter(rewriter), parts(*op.getBody()), n(op.getExtents().n),
      columns(columns),
      partsType(RankedTensorType::get(
          {op.getExtents().m,
           static_cast<int64_t>(llvm::divideCeil(n, columns))},
          rewriter.getF32Type())) {
  product = FusedLinearOp::create(rewriter, op.getLoc(), TypeRange(), op.getX(),
                                  op.getW(), op.getEpilogueOperands(),
                                  op.getPrecisionAttr());
  product.inherit(op);
  op.getEpilogue().cloneInto(&product.getEpilogue(), copies);
}

/// Has the product's region yield what a value is for parts of rows. Returns
/// the argument of the rest.
Value RowCut::addPart(Value ofTile) {
  yielded.push_back(
      RowPartsOp::create(rewriter, op.getLoc(), partsType, ofTile, columns));
  return op.getBody()->addArgument(partsType, op.getLoc());
}

/// The argument that has reductions of parts of `input`, a matrix of `op`.
Value RowCut::getPart(RowReduction kind, Value input) {
  auto [entry, isNew] = known.insert({{input, kind}, Known()});
  if (!isNew)
    return entry->second.argument;
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(product.getYield());
  Value ofTile = ReduceRowOp::create(
      rewriter, op.getLoc(), kind,
      createF32(rewriter, op.getLoc(), copies.lookup(input)));
  entry->second = {addPart(ofTile), ofTile};
  return entry->second.argument;
}

/// What `reduction` gives, here, in f32.
Value RowCut::createWhole(ReduceRowOp reduction, const RowPart &part) {
  Location loc = reduction.getLoc();
  RowReduction kind = getKindOfParts(reduction);
  Value whole;
  if (part.shift) {
    Value maxima = getPart(RowReduction::Max, part.input);
    Value sums;
    {
      OpBuilder::InsertionGuard guard(rewriter);
      rewriter.setInsertionPoint(product.getYield());
      Value bound = createBound(rewriter, loc,
                                known[{part.input, RowReduction::Max}].ofTile);
      Value input = createF32(rewriter, loc, copies.lookup(part.input));
      Value distance = SubOp::create(rewriter, loc, input, bound);
      sums = addPart(ReduceRowOp::create(
          rewriter, loc, kind, ExpOp::create(rewriter, loc, distance)));
    }
    Value distance = SubOp::create(
        rewriter, loc, createBound(rewriter, loc, maxima), part.shift);
    Value factor = ExpOp::create(rewriter, loc, distance);
    whole = MulOp::create(rewriter, loc, sums, factor);
  } else {
    whole = getPart(kind, part.input);
  }
  // Each part's place is that of its largest, or smallest, element.
  Value numbers;
  if (reduction.givesPlace()) {
    numbers = whole;
    whole = getPart(kind == RowReduction::ArgMax ? RowReduction::Max
                                                 : RowReduction::Min,
                    part.input);
  }
  whole = ReduceRowOp::create(rewriter, loc, kind, whole, numbers);
  if (reduction.getKind() == RowReduction::Mean)
    whole = DivOp::create(rewriter, loc, whole, static_cast<double>(n));
  if (whole.getType() != reduction.getType())
    whole = CastOp::create(rewriter, loc, reduction.getType(), whole);
  return whole;
}

FusedLinearOp RowCut::run() {
  Block *body = op.getBody();
  for (ReduceRowOp reduction :
       llvm::make_early_inc_range(body->getOps<ReduceRowOp>())) {
    // One that nothing reads need not follow from parts.
    std::optional<RowPart> part = parts.find(reduction);
    if (!part || reduction.use_empty())
      continue;
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPoint(reduction);
    rewriter.replaceOp(reduction, createWhole(reduction, *part));
  }
  // The product gives all parts, of which the first takes the place of what
  // the rest is given of it.
  product.getYield().getValuesMutable().assign(yielded);
  auto given = FusedLinearOp::create(
      rewriter, op.getLoc(),
      TypeRange(SmallVector<Type>(yielded.size(), partsType)), op.getX(),
      op.getW(), op.getEpilogueOperands(), op.getPrecisionAttr());
  given.inherit(op);
  rewriter.inlineRegionBefore(product.getEpilogue(), given.getEpilogue(),
                              given.getEpilogue().end());
  rewriter.eraseOp(product);
  (void)runRegionDCE(rewriter, given.getEpilogue());
  eraseUnusedOperands(given);

  (void)runRegionDCE(rewriter, op.getEpilogue());
  unsigned first = body->getNumArguments() - yielded.size();
  BlockArgument instead = body->insertArgument(0u, partsType, op.getLoc());
  body->getArgument(first + 1).replaceAllUsesWith(instead);
  body->eraseArgument(first + 1);
  body->eraseArgument(1);
  op.getEpilogueOperandsMutable().append(given.getResults().drop_front());
  replaceByEpilogue(op, given.getResult(0), rewriter);
  return given;
}

FusedLinearOp tenon::cutAtRows(FusedLinearOp op, int64_t columns,
                               RewriterBase &rewriter) {
  return RowCut(op, columns, rewriter).run();
}
