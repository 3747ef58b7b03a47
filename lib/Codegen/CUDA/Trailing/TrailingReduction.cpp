//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Divides a tiled layer at its batch norm.
//
//===----------------------------------------------------------------------===//

#include "TrailingReduction.h"

#include "../HostValues.h"
#include "../Sm90/EpilogueSubtiles.h"
#include "FinishKernel.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mlir::tenon;

std::string tenon::findTrailingProblem(TiledLinearOp op) {
  auto norms = op.getBody()->getOps<BatchNormTrainingOp>();
  if (!llvm::hasSingleElement(norms) ||
      !llvm::hasSingleElement(op.getBody()->getOps<ReductionEpilogueOp>()))
    return "reduction = trailing is for a region with one training batch norm "
           "and no other reduction";
  auto input = cast<RankedTensorType>((*norms.begin()).getInput().getType());
  Type element = input.getElementType();
  if (!element.isF32() && !element.isF16() && !element.isBF16())
    return "with reduction = trailing the batch norm must be of f32, f16 or "
           "bf16";
  if (restNeedsProduct(op))
    return "with reduction = trailing what follows the batch norm may need no "
           "more of the product than the norm's input";
  std::string problem = findFinishProblem(*op.getBody());
  return problem.empty() ? "" : "with reduction = trailing " + problem;
}

/// A temporary of `rows` (i64) rows; of an M that is known they are static.
static Value createRows(ImplicitLocOpBuilder &b, Value rows,
                        ArrayRef<int64_t> rest, Type elementType) {
  SmallVector<int64_t> shape{ShapedType::kDynamic};
  shape.append(rest.begin(), rest.end());
  if (std::optional<int64_t> known = getConstantIntValue(rows)) {
    shape.front() = *known;
    return createTemporary(b, MemRefType::get(shape, elementType));
  }
  return createTemporary(
      b, MemRefType::get(shape, elementType),
      arith::IndexCastOp::create(b, b.getIndexType(), rows).getResult());
}

TrailingBuffers tenon::createTrailingBuffers(ImplicitLocOpBuilder &b,
                                             TiledLinearOp op,
                                             const ProgressLayout &layout,
                                             Value m) {
  auto i64 = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(b, b.getI64IntegerAttr(value));
  };
  MemRefType reduced = getReducedType(op);
  int64_t scalars = MomentsOp::getNumScalars(reduced.getElementType());
  Value blocks = b.createOrFold<arith::CeilDivUIOp>(
      m, i64(op.getSchedule().getMomentRows()));
  Value rows = b.createOrFold<arith::MulIOp>(blocks, i64(scalars));
  TrailingBuffers buffers;
  buffers.reduced = findReducedBuffer(op);
  if (!buffers.reduced)
    buffers.reduced =
        createRows(b, m, reduced.getDimSize(1), reduced.getElementType());
  buffers.moments = createRows(b, rows, reduced.getDimSize(1), b.getF32Type());
  buffers.progress =
      createRows(b, layout.emitBytes(b, m), /*rest=*/{}, b.getI8Type());
  return buffers;
}

/// Has the product's kernel reduce what it stores.
static void yieldMoments(RewriterBase &rewriter, TiledLinearOp product,
                         const TrailingBuffers &buffers, uint64_t rows) {
  product.getOutputsMutable().append(buffers.moments);
  product.getWorkspaceMutable().assign(buffers.progress);
  YieldOp yield = product.getYield();
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(yield);
  Value moments =
      MomentsOp::create(rewriter, product.getLoc(),
                        EpilogueOp::getTensorType(buffers.moments.getType()),
                        yield.getValues().front(), rows);
  yield.getValuesMutable().append(moments);
}

static void takeMoments(EpilogueOp rest, Value moments, uint64_t rows) {
  auto norm = *rest.getBody()->getOps<BatchNormTrainingOp>().begin();
  rest.getInputsMutable().append(moments);
  norm.getMomentsMutable().assign(rest.getBody()->addArgument(
      EpilogueOp::getTensorType(moments.getType()), norm.getLoc()));
  norm.setMomentRows(rows);
}

SeparateReduction
tenon::createTrailingReduction(OpBuilder &builder, TiledLinearOp op,
                               const TrailingBuffers &buffers) {
  SeparateReduction parts =
      createSeparateReduction(builder, op, buffers.reduced);
  parts.product.setScheduleAttr(op.getSchedule());
  IRRewriter rewriter(builder);
  uint64_t rows = op.getSchedule().getMomentRows();
  yieldMoments(rewriter, parts.product, buffers, rows);
  takeMoments(parts.rest, buffers.moments, rows);
  return parts;
}
