//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tiled linear op: building, verification.
//
//===----------------------------------------------------------------------===//

#include "DestinationStyle.h"

#include "tenon/Dialect/Tenon/IR/EpilogueOps.h"
#include "tenon/Dialect/Tenon/IR/NarrowFloats.h"
#include "tenon/Dialect/Tenon/IR/Tenon.h"

using namespace mlir;
using namespace mlir::tenon;

//===----------------------------------------------------------------------===//
// Building, queries
//===----------------------------------------------------------------------===//

void TiledLinearOp::build(OpBuilder & /*builder*/, OperationState &state,
                          Value x, ValueRange weights, ValueRange factors,
                          ValueRange inputs, ValueRange outputs,
                          Value workspace, ScheduleAttr schedule,
                          OperandLayoutAttr layout) {
  state.addOperands(x);
  state.addOperands(weights);
  state.addOperands(factors);
  state.addOperands(inputs);
  state.addOperands(outputs);
  if (workspace)
    state.addOperands(workspace);
  auto &properties = state.getOrAddProperties<Properties>();
  properties.schedule = schedule;
  properties.layout = layout;
  auto size = [](ValueRange values) {
    return static_cast<int32_t>(values.size());
  };
  properties.operandSegmentSizes = {1,
                                    1,
                                    size(weights) - 1,
                                    /*furtherTerms=*/0,
                                    size(factors),
                                    size(inputs),
                                    size(outputs),
                                    workspace ? 1 : 0};
  for (Type type : outputs.getTypes())
    if (isa<TensorType>(type))
      state.addTypes(type);
  state.addRegion();
}

YieldOp TiledLinearOp::getYield() {
  return cast<YieldOp>(getBody()->getTerminator());
}

SmallVector<int64_t> TiledLinearOp::getProductShape() {
  ProductExtents extents = getExtents();
  return {extents.m, extents.n};
}

bool TiledLinearOp::isOfColumns(Value value) {
  auto reduction = value.getDefiningOp<ReductionEpilogueOp>();
  return value.getDefiningOp<MomentsOp>() ||
         (reduction && value != reduction.getMapped());
}

bool TiledLinearOp::isOfRows(Value value) {
  if (value.getDefiningOp<RowPartsOp>())
    return true;
  auto product =
      cast<RankedTensorType>(value.getParentBlock()->getArgument(0).getType());
  auto type = cast<RankedTensorType>(value.getType());
  return product.getDimSize(1) != 1 && type.getRank() == 2 &&
         type.getDimSize(0) == product.getDimSize(0) &&
         type.getDimSize(1) < product.getDimSize(1); // 1, or groups
}

bool TiledLinearOp::isOnTensors() { return isa<TensorType>(getX().getType()); }

void TiledLinearOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  if (isOnTensors())
    return;
  auto *resource = SideEffects::DefaultResource::get();
  for (OpOperand &operand : (*this)->getOpOperands())
    if (!isDpsInit(&operand))
      effects.emplace_back(MemoryEffects::Read::get(), &operand, resource);
  for (OpOperand &output : getOutputsMutable())
    effects.emplace_back(MemoryEffects::Write::get(), &output, resource);
  for (OpOperand &workspace : getWorkspaceMutable())
    effects.emplace_back(MemoryEffects::Write::get(), &workspace, resource);
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

std::string tenon::findElementProblem(ProductMethod method, Type elementType) {
  MethodTraits traits = getTraits(method);
  auto [taken, takes] = [&]() -> std::pair<StringRef, bool> {
    if (traits.isSplit())
      return {"the f16 halves of tenon.split", elementType.isF16()};
    if (!traits.usesTensorCores)
      return {"f32", elementType.isF32()};
    if (method == ProductMethod::FP8)
      return {"f8E4M3FN and f8E5M2", isNarrowFloat(elementType)};
    return {"f16, bf16 and f32 (as tf32)",
            !elementType.isF64() && !isNarrowFloat(elementType)};
  }();
  if (takes)
    return "";
  return ("method " + stringifyProductMethod(method) + " multiplies " + taken)
      .str();
}

/// Checks that there is a scale for each block of x and of w.
static LogicalResult verifyBlockScales(TiledLinearOp op) {
  ProductExtents extents = op.getExtents();
  int64_t ofK = llvm::divideCeil(extents.k, ScaleBlocksOp::kBlock);
  int64_t ofN = llvm::divideCeil(extents.n, ScaleBlocksOp::kBlock);
  Type f32 = Float32Type::get(op.getContext());
  SmallVector<RankedTensorType> expected{
      RankedTensorType::get({extents.m, ofK}, f32),
      RankedTensorType::get({ofN, ofK}, f32)};
  SmallVector<RankedTensorType> byColumns{
      RankedTensorType::get({extents.m * ofK}, f32), expected[1]};
  auto given = llvm::map_range(op.getFactors(), [](Value factors) {
    return EpilogueOp::getTensorType(factors.getType());
  });
  bool isStatic = !ShapedType::isDynamic(extents.m);
  if ((llvm::equal(given, expected) ||
       (isStatic && llvm::equal(given, byColumns))) &&
      op.getNumWeights() == 1)
    return success();
  return op.emitOpError("method fp8 takes a scale of each 1x128 of x and of "
                        "each 128x128 of one w, ")
         << expected[0] << " and " << expected[1] << ", but has ("
         << op.getFactors().getTypes() << ")";
}

/// Checks that the schedule's method multiplies such operands.
static LogicalResult verifyMethod(TiledLinearOp op) {
  ScheduleAttr schedule = op.getSchedule();
  StringRef method = stringifyProductMethod(schedule.getMethod());
  Type element = cast<ShapedType>(op.getX().getType()).getElementType();
  if (std::string problem = findElementProblem(schedule.getMethod(), element);
      !problem.empty())
    return op.emitOpError(problem) << ", but x is " << op.getX().getType();
  int64_t parts = schedule.getMethodTraits().parts;
  int64_t columns = parts * SplitOp::kPartColumns;
  int64_t k = op.getExtents().k;
  if (parts > 1 && k % columns != 0)
    return op.emitOpError("method ")
           << method
           << " multiplies halves in two parts, of which tenon.split gives a "
              "multiple of "
           << columns << " columns, but they have " << k;
  if (op.getFactors().empty() && !schedule.isSplit())
    return success();
  if (op.hasBlockScales())
    return verifyBlockScales(op);
  // A guard may look at those of another product's w too.
  bool mayHaveMore = op.isGuarded() && op.getFactors().size() > 2;
  if (op.getFactors().size() != 1 + op.getNumWeights() && !mayHaveMore)
    return op.emitOpError("method ")
           << method << " needs the factors of x's and of "
           << (op.getNumWeights() == 1 ? "w's rows" : "each w's rows")
           << ", but has " << op.getFactors().size() << " factors";
  for (auto [index, factors] : llvm::enumerate(op.getFactors())) {
    auto type = cast<ShapedType>(factors.getType());
    int64_t extent = op.getProductShape()[index == 0 ? 0 : 1];
    if (!type.getElementType().isF32() ||
        type.getShape() != ArrayRef<int64_t>{extent, 1})
      return op.emitOpError("factors must be f32 [M, 1] and [N, 1], but are (")
             << op.getFactors().getTypes() << ")";
  }
  return success();
}

/// Checks that there are as many weights as the schedule says, all alike. In
/// memory one may lie within another tensor.
static LogicalResult verifyWeights(TiledLinearOp op) {
  if (op.getNumWeights() != op.getSchedule().getWeights())
    return op.emitOpError("has ")
           << op.getNumWeights() << " weights, but its schedule "
           << op.getSchedule().getWeights();
  auto first = cast<ShapedType>(op.getW().getType());
  auto isOther = [&](Value w) {
    auto type = cast<ShapedType>(w.getType());
    return type.getShape() != first.getShape() ||
           type.getElementType() != first.getElementType();
  };
  for (Value w : op.getFurtherWeights())
    if (isOther(w))
      return op.emitOpError(
                 "multiplies x by weights of one type, but they are ")
             << op.getW().getType() << " and " << w.getType();
  return success();
}

/// Checks that there are as many terms as the schedule says, all with the
/// product's rows and columns.
static LogicalResult verifyTerms(TiledLinearOp op) {
  if (op.getFurtherTerms().size() % 2 != 0 ||
      op.getNumTerms() != op.getSchedule().getTerms())
    return op.emitOpError("has ")
           << op.getFurtherTerms().size() << " matrices of further terms, but "
           << "its schedule " << op.getSchedule().getTerms() << " terms";
  Type element = cast<ShapedType>(op.getX().getType()).getElementType();
  ProductExtents extents = op.getExtents();
  for (unsigned term = 1; term != op.getNumTerms(); ++term) {
    auto [xValue, wValue] = op.getTerm(term);
    auto x = cast<ShapedType>(xValue.getType());
    auto w = cast<ShapedType>(wValue.getType());
    if (x.getRank() == 2 && w.getRank() == 2 && w.hasStaticShape() &&
        x.getElementType() == element && w.getElementType() == element) {
      ProductExtents others = getProductExtents(x, w, op.getLayout());
      if (others.m == extents.m && others.n == extents.n &&
          x.getDimSize(isXTransposed(op.getLayout()) ? 0 : 1) == others.k)
        continue;
    }
    return op.emitOpError("adds up products of the same rows and columns, but "
                          "of x ")
           << x << " and w " << w << " it is not that of "
           << op.getX().getType() << " and " << op.getW().getType();
  }
  return success();
}

LogicalResult TiledLinearOp::verify() {
  if (failed(tenon::detail::verifyDestinations(*this, getOutputs())))
    return failure();
  auto x = cast<ShapedType>(getX().getType());
  auto w = cast<ShapedType>(getW().getType());
  Type element = x.getElementType();
  if (element.isF64() || w.getElementType() != element)
    return emitOpError("multiplies x and w of one element type other than f64, "
                       "but x is ")
           << x << " and w is " << w;
  bool turnsX = isXTransposed(getLayout()), turnsW = isWTransposed(getLayout());
  if (x.getRank() != 2 || w.getRank() != 2 || !w.hasStaticShape() ||
      (turnsX && !x.hasStaticShape()) ||
      x.getDimSize(turnsX ? 0 : 1) != getExtents().k)
    return emitOpError("needs x ")
           << (turnsX ? "[K, M]" : "[M, K]") << " and w "
           << (turnsW ? "[K, N]" : "[N, K]")
           << ", with N and K known and one K, but x is " << x << " and w is "
           << w;
  if (failed(verifyWeights(*this)) || failed(verifyTerms(*this)))
    return failure();
  // f32 lies along K for wgmma, and so do halves and 8 bits.
  bool mayTurn = element.isF32()
                     ? getSchedule().getFamily() == KernelFamily::MmaSync
                     : getSchedule().getMethod() == ProductMethod::Direct;
  if ((turnsX || turnsW) && (!mayTurn || getNumWeights() != 1))
    return emitOpError("turns x and w of f32 in a schedule of family mma_sync, "
                       "and of 16 bits by method direct, but has x ")
           << x << " and " << getSchedule();
  if (failed(verifyMethod(*this)))
    return failure();
  bool exchanges =
      getSchedule().getStreamK() ||
      getSchedule().getReduction() == ReductionMethod::Resident ||
      getSchedule().getReduction() == ReductionMethod::ResidentRows;
  if (exchanges != static_cast<bool>(getWorkspace()))
    return emitOpError("needs a workspace exactly where its schedule has "
                       "stream_k or reduction = resident or resident_rows, "
                       "but has ")
           << (getWorkspace() ? "one without" : "none with") << " either";
  return success();
}

/// Whether an op maps elements to elements, or is a constant that is the same
/// everywhere. What is stored may be rounded for what is reduced of it.
static bool canBeInEpilogue(Operation &op) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return isa<SplatElementsAttr>(constant.getValue());
  return isEpilogueOp(&op) || isa<MomentsOp, RowPartsOp, arith::TruncFOp>(op);
}

/// Checks that the schedule allows for what reduces the product.
static LogicalResult verifyReductions(TiledLinearOp op) {
  ReductionMethod method = op.getSchedule().getReduction();
  for (Operation &nested : *op.getBody()) {
    if (isa<BatchMomentsOp, BatchSumOp>(nested))
      return nested.emitOpError("needs all rows and maps none: a "
                                "tenon.tiled_linear yields tenon.moments, and "
                                "a tenon.epilogue combines them");
    if (isa<ReductionEpilogueOp>(nested) && method != ReductionMethod::Resident)
      return nested.emitOpError("needs a schedule with reduction = resident, "
                                "but it has ")
             << stringifyReductionMethod(method);
    if (isa<ReduceRowOp>(nested) && method != ReductionMethod::InTile &&
        method != ReductionMethod::ReduceOnly &&
        method != ReductionMethod::ResidentRows)
      return nested.emitOpError("needs a schedule with reduction = in_tile, "
                                "reduce_only or resident_rows, but it has ")
             << stringifyReductionMethod(method);
    if (auto parts = dyn_cast<RowPartsOp>(nested);
        parts && (method != ReductionMethod::ReduceOnly ||
                  parts.getColumns() !=
                      static_cast<uint64_t>(op.getSchedule().getTile()[1])))
      return parts.emitOpError("needs a schedule with reduction = reduce_only "
                               "and a tile of as many columns, ")
             << parts.getColumns() << ", but it has " << op.getSchedule();
    auto moments = dyn_cast<MomentsOp>(nested);
    if (!moments)
      continue;
    if (method != ReductionMethod::TwoPhase)
      return moments.emitOpError("needs a schedule with reduction = two_phase, "
                                 "but it has ")
             << stringifyReductionMethod(method);
    int64_t rows = op.getSchedule().getMomentRows();
    if (moments.getRows() != static_cast<uint64_t>(rows))
      return moments.emitOpError("must be of the rows that the schedule's "
                                 "kernel takes together, ")
             << rows << ", but is of " << moments.getRows();
    // moments-C4: such a kernel reads again what it stores.
    ScheduleAttr schedule = op.getSchedule();
    bool readsStored = schedule.getFamily() == KernelFamily::Wgmma &&
                       !schedule.hasSwappedOperands();
    if (readsStored && !moments.getSums() &&
        !llvm::is_contained(op.getYield().getValues(), moments.getInput()))
      return moments.emitOpError(
          "takes what the yield writes, but its input is "
          "not yielded");
  }
  return success();
}

/// Checks that the region's arguments stand for the product and the inputs.
static LogicalResult verifyArguments(TiledLinearOp op) {
  Block *body = op.getBody();
  unsigned expected = op.getNumWeights() + op.getInputs().size();
  if (body->getNumArguments() != expected)
    return op.emitOpError("region must take the product")
           << (op.getNumWeights() == 1 ? "" : " of each w")
           << " and one argument for each input: expected " << expected
           << " arguments, but it has " << body->getNumArguments();
  auto x = cast<ShapedType>(op.getX().getType());
  auto product =
      RankedTensorType::get(op.getProductShape(), x.getElementType());
  for (BlockArgument accumulator : op.getAccumulators())
    if (Type type = accumulator.getType();
        type != product &&
        type != product.clone(Float32Type::get(op.getContext())))
      return op.emitOpError(
                 "the product argument must be [M, N] of x's element "
                 "type or f32: expected ")
             << product << ", but it is " << type;
  for (auto [input, argument] :
       llvm::zip(op.getInputs(), op.getInputArguments()))
    if (EpilogueOp::getTensorType(input.getType()) != argument.getType())
      return op.emitOpError("argument #")
             << argument.getArgNumber() << " stands for an input of type "
             << input.getType() << ", but is " << argument.getType();
  return success();
}

LogicalResult TiledLinearOp::verifyRegions() {
  if (failed(verifyArguments(*this)))
    return failure();
  for (Operation &op : getBody()->without_terminator())
    if (!canBeInEpilogue(op))
      return op.emitOpError("cannot be in a tiled epilogue: it is neither an "
                            "elementwise op of the tenon dialect, nor a "
                            "reduction of it, nor a splat constant");
  if (failed(verifyReductions(*this)))
    return failure();
  if (failed(tenon::detail::verifyEpilogueYield(getYield(), getOutputs())))
    return failure();
  // Else it would give rows, of which a tile has not all.
  if (getSchedule().getReduction() == ReductionMethod::ReduceOnly)
    for (Value value : getYield().getValues())
      if (!value.getDefiningOp<RowPartsOp>())
        return emitOpError("yields tenon.row_parts alone with reduction = "
                           "reduce_only, but a value is ")
               << value.getType();
  SmallVector<int64_t> shape = getProductShape();
  for (auto [output, value] : llvm::zip(getOutputs(), getYield().getValues()))
    if (cast<ShapedType>(output.getType()).getShape() != ArrayRef(shape) &&
        !isOfColumns(value) && !isOfRows(value))
      return emitOpError("writes outputs of the product's shape, ")
             << EpilogueOp::getTensorType(getAccumulator().getType())
             << ", but one is " << output.getType();
  return success();
}
