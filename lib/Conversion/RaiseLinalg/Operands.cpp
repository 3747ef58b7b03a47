//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What tensors of linalg ops are in the end.
//
//===----------------------------------------------------------------------===//

#include "Operands.h"

#include "tenon/Dialect/Tenon/IR/Tenon.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::tenon;

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

/// The operand that an op writes to its result element by element, if that is
/// all it does; null otherwise.
static OpOperand *getCopied(linalg::LinalgOp op) {
  if (op->getNumResults() != 1 || op.getNumParallelLoops() != op.getNumLoops())
    return nullptr;
  Value yielded = op.getBlock()->getTerminator()->getOperand(0);
  auto argument = dyn_cast<BlockArgument>(yielded);
  if (!argument || argument.getOwner() != op.getBlock() ||
      argument.getArgNumber() >= op.getNumDpsInputs())
    return nullptr;
  OpOperand *operand = op.getMatchingOpOperand(argument);
  return isa<RankedTensorType>(operand->get().getType()) ? operand : nullptr;
}

/// The source's indices, of those that `map` gives of an op that reshapes:
/// `groups` has the dimensions of the higher rank by those of the lower.
static AffineMap reshapeMap(AffineMap map, RankedTensorType higher,
                            ArrayRef<ReassociationIndices> groups,
                            bool isExpansion) {
  AffineExpr zero = getAffineConstantExpr(0, map.getContext());
  SmallVector<AffineExpr> indices(
      isExpansion ? groups.size() : higher.getRank(), zero);
  for (auto [low, group] : llvm::enumerate(groups)) {
    SmallVector<int64_t> large;
    llvm::copy_if(group, std::back_inserter(large),
                  [&](int64_t dim) { return higher.getDimSize(dim) != 1; });
    if (large.size() > 1)
      return {};
    if (large.empty())
      continue;
    if (isExpansion)
      indices[low] = map.getResult(large[0]);
    else
      indices[large[0]] = map.getResult(low);
  }
  return AffineMap::get(map.getNumDims(), 0, indices, map.getContext());
}

/// The loop that `index` counts in a body of `op`, or 0; null if it does
/// neither. A dynamic extent is not taken for 1, though a body may ask.
static AffineExpr getLoopIndex(Value index) {
  if (matchPattern(index, m_Zero()))
    return getAffineConstantExpr(0, index.getContext());
  if (auto select = index.getDefiningOp<arith::SelectOp>();
      select && matchPattern(select.getTrueValue(), m_Zero()))
    if (auto compare = select.getCondition().getDefiningOp<arith::CmpIOp>();
        compare && compare.getPredicate() == arith::CmpIPredicate::eq &&
        compare.getLhs().getDefiningOp<tensor::DimOp>() &&
        matchPattern(compare.getRhs(), m_One()))
      index = select.getFalseValue();
  auto loop = index.getDefiningOp<linalg::IndexOp>();
  return loop ? getAffineDimExpr(loop.getDim(), index.getContext())
              : AffineExpr();
}

/// What a body reads by its loops' numbers, if that is all it does, as
/// torch-mlir repeats tensors of dynamic extents.
static std::optional<View> getGathered(linalg::LinalgOp op) {
  if (op->getNumResults() != 1 || op.getNumParallelLoops() != op.getNumLoops())
    return std::nullopt;
  auto extract = op.getBlock()
                     ->getTerminator()
                     ->getOperand(0)
                     .getDefiningOp<tensor::ExtractOp>();
  if (!extract || extract->getBlock() != op.getBlock())
    return std::nullopt;
  SmallVector<AffineExpr> indices =
      llvm::map_to_vector(extract.getIndices(), getLoopIndex);
  if (llvm::is_contained(indices, AffineExpr()))
    return std::nullopt;
  return View{extract.getTensor(),
              AffineMap::get(op.getNumLoops(), 0, indices, op->getContext())};
}

/// What `view` is made of, if its tensor is another one rearranged.
static std::optional<View> getSource(View view) {
  Operation *op = view.tensor.getDefiningOp();
  if (!op)
    return std::nullopt;
  if (auto cast = dyn_cast<tensor::CastOp>(op)) {
    if (!isa<RankedTensorType>(cast.getSource().getType()))
      return std::nullopt;
    return View{cast.getSource(), view.map};
  }
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
    return View{expand.getSrc(), reshapeMap(view.map, expand.getResultType(),
                                            expand.getReassociationIndices(),
                                            /*isExpansion=*/true)};
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op))
    return View{collapse.getSrc(),
                reshapeMap(view.map, collapse.getSrcType(),
                           collapse.getReassociationIndices(),
                           /*isExpansion=*/false)};
  auto copy = dyn_cast<linalg::LinalgOp>(op);
  if (!copy)
    return std::nullopt;
  AffineMap written = getInit(copy).map;
  std::optional<View> read = getGathered(copy);
  if (OpOperand *copied = getCopied(copy))
    read = View{copied->get(), copy.getMatchingIndexingMap(copied)};
  if (!read || !written.isPermutation())
    return std::nullopt;
  return View{read->tensor,
              read->map.compose(inversePermutation(written)).compose(view.map)};
}

View tenon::lookThrough(View view) {
  for (;;) {
    std::optional<View> source = getSource(view);
    if (!source || !source->map)
      return view;
    view = *source;
  }
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

TypedAttr tenon::getNumber(Value value) {
  if (isa<RankedTensorType>(value.getType())) {
    auto type = cast<RankedTensorType>(value.getType());
    View view{value, AffineMap::getMultiDimIdentityMap(type.getRank(),
                                                       value.getContext())};
    value = lookThrough(view).tensor;
  }
  Attribute constant;
  if (matchPattern(value, m_Constant(&constant))) {
    if (auto elements = dyn_cast<DenseElementsAttr>(constant))
      return elements.isSplat() ? elements.getSplatValue<TypedAttr>()
                                : TypedAttr();
    return isa<FloatAttr, IntegerAttr>(constant) ? cast<TypedAttr>(constant)
                                                 : TypedAttr();
  }
  if (auto fill = value.getDefiningOp<linalg::FillOp>())
    return getNumber(fill.value());
  if (auto splat = value.getDefiningOp<tensor::SplatOp>())
    return getNumber(splat.getInput());
  // A body that yields what it reads of no tensor.
  auto op = value.getDefiningOp<linalg::LinalgOp>();
  if (!op || op->getNumResults() != 1)
    return {};
  Value yielded = op.getBlock()->getTerminator()->getOperand(0);
  return yielded.getDefiningOp<arith::ConstantOp>() ? getNumber(yielded)
                                                    : TypedAttr();
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

bool tenon::isTenonTensor(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getRank() <= 2 &&
         isa<Float16Type, BFloat16Type, Float32Type, Float64Type>(
             tensor.getElementType()) &&
         tenon::detail::hasSupportedShape(tensor);
}

Value tenon::reshape(OpBuilder &builder, Location loc, Value value,
                     RankedTensorType type) {
  auto given = cast<RankedTensorType>(value.getType());
  if (given == type)
    return value;
  if (given.getRank() == type.getRank())
    return tensor::CastOp::areCastCompatible(given, type)
               ? tensor::CastOp::create(builder, loc, type, value).getResult()
               : Value();
  auto groups = getReassociationIndicesForReshape(given, type);
  if (!groups)
    return {};
  if (given.getRank() > type.getRank())
    return tensor::CollapseShapeOp::create(builder, loc, type, value, *groups);
  return tensor::ExpandShapeOp::create(builder, loc, type, value, *groups);
}
