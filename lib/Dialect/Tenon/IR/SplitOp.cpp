//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The split op: building, verification, bufferization.
//
//===----------------------------------------------------------------------===//

#include "DestinationStyle.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::tenon;

//===----------------------------------------------------------------------===//
// Building, queries
//===----------------------------------------------------------------------===//

int64_t SplitOp::getNumColumns(int64_t k, unsigned parts) {
  return parts == 1 ? llvm::alignTo<8>(k) : 2 * llvm::alignTo<kPartColumns>(k);
}

static int64_t getRows(ShapedType x, bool transposed) {
  return x.getDimSize(transposed ? 1 : 0);
}

static int64_t getColumns(ShapedType x, bool transposed) {
  return x.getDimSize(transposed ? 0 : 1);
}

void SplitOp::build(OpBuilder &builder, OperationState &state, Value x,
                    unsigned parts, bool transposed) {
  auto type = cast<RankedTensorType>(x.getType());
  int64_t m = getRows(type, transposed), k = getColumns(type, transposed);
  state.getOrAddProperties<Properties>().transposed =
      transposed ? builder.getUnitAttr() : UnitAttr();
  state.addOperands(x);
  state.addTypes({RankedTensorType::get({m, getNumColumns(k, parts)},
                                        builder.getF16Type()),
                  RankedTensorType::get({m, 1}, builder.getF32Type())});
}

void SplitOp::build(OpBuilder &builder, OperationState &state, Value x,
                    ValueRange outputs, bool transposed) {
  state.getOrAddProperties<Properties>().transposed =
      transposed ? builder.getUnitAttr() : UnitAttr();
  state.addOperands(x);
  state.addOperands(outputs);
}

bool SplitOp::isOnTensors() { return isa<TensorType>(getX().getType()); }

Value SplitOp::getHalves() {
  return isOnTensors() ? getResults()[0] : getOutputs()[0];
}

Value SplitOp::getFactors() {
  return isOnTensors() ? getResults()[1] : getOutputs()[1];
}

int64_t SplitOp::getM() {
  return getRows(cast<ShapedType>(getX().getType()), getTransposed());
}

int64_t SplitOp::getK() {
  return getColumns(cast<ShapedType>(getX().getType()), getTransposed());
}

unsigned SplitOp::getParts() {
  // Two parts have 64 columns at least, and twice K.
  int64_t columns = cast<ShapedType>(getHalves().getType()).getDimSize(1);
  return columns == getNumColumns(getK(), 1) ? 1 : 2;
}

void SplitOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  if (isOnTensors())
    return;
  auto *resource = SideEffects::DefaultResource::get();
  effects.emplace_back(MemoryEffects::Read::get(), &getXMutable(), resource);
  for (OpOperand &output : getOutputsMutable())
    effects.emplace_back(MemoryEffects::Write::get(), &output, resource);
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

LogicalResult SplitOp::verify() {
  TypeRange given = getOutputs().getTypes();
  bool onTensors = isOnTensors();
  // split-C1
  if (onTensors)
    given = getResultTypes();
  else if (getNumResults() != 0)
    return emitOpError("on memrefs gives no results, but has (")
           << getResultTypes() << ")";
  if (onTensors != getOutputs().empty() || !llvm::all_of(given, [&](Type type) {
        return isa<TensorType>(type) == onTensors;
      }))
    return emitOpError("takes tensors and gives tensors, or takes memrefs and "
                       "writes to memrefs: operands are (")
           << getOperandTypes() << "), results (" << getResultTypes() << ")";
  auto x = cast<ShapedType>(getX().getType());
  // split-C2
  bool isMatrix = x.getRank() == 2 && x.getElementType().isF32();
  if (!isMatrix || ShapedType::isDynamic(getK()) || getK() < 1 ||
      getK() > kMaxColumns)
    return emitOpError("splits x ")
           << (getTransposed() ? "[K, M]" : "[M, K]")
           << " of f32, with K from 1 to " << kMaxColumns << ", but x is " << x;
  // split-C5
  if (getTransposed() && !x.hasStaticShape())
    return emitOpError("splits the transpose of x [K, M] of static shape, but "
                       "x is ")
           << x;
  // split-C3
  if (given.size() != 2)
    return emitOpError("gives halves and factors, but has (") << given << ")";
  auto halves = cast<ShapedType>(given[0]),
       factors = cast<ShapedType>(given[1]);
  int64_t m = getM(), k = getK();
  int64_t columns = halves.getRank() == 2 ? halves.getDimSize(1) : 0;
  if (!halves.getElementType().isF16() || halves.getRank() != 2 ||
      halves.getDimSize(0) != m ||
      (columns != getNumColumns(k, 1) && columns != getNumColumns(k, 2)))
    return emitOpError("gives halves of f16, [M, ")
           << getNumColumns(k, 1) << "] in one part or [M, "
           << getNumColumns(k, 2) << "] in two, of " << x << ", but they are "
           << halves;
  // split-C4
  if (!factors.getElementType().isF32() ||
      factors.getShape() != ArrayRef<int64_t>{m, 1})
    return emitOpError("gives factors of f32, [M, 1], of ")
           << x << ", but they are " << factors;
  return success();
}

//===----------------------------------------------------------------------===//
// Bufferization
//===----------------------------------------------------------------------===//

namespace {
struct SplitBufferization
    : tenon::detail::NewBuffersModel<SplitBufferization, SplitOp> {
  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const bufferization::BufferizationOptions &options,
                          bufferization::BufferizationState &state) const {
    auto split = cast<SplitOp>(op);
    if (!split.isOnTensors())
      return success();
    FailureOr<Value> x =
        bufferization::getBuffer(rewriter, split.getX(), options, state);
    if (failed(x))
      return failure();
    SmallVector<Value> extents;
    if (cast<MemRefType>(x->getType()).isDynamicDim(0))
      extents.push_back(memref::DimOp::create(rewriter, op->getLoc(), *x, 0));
    FailureOr<SmallVector<Value>> buffers =
        tenon::detail::allocateResults(op, extents, rewriter, options);
    if (failed(buffers))
      return failure();
    SplitOp::create(rewriter, op->getLoc(), *x, *buffers,
                    split.getTransposed());
    bufferization::replaceOpWithBufferizedValues(rewriter, op, *buffers);
    return success();
  }
};
} // namespace

void tenon::detail::attachSplitBufferization(MLIRContext &context) {
  SplitOp::attachInterface<SplitBufferization>(context);
}
