//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// --tenon-cpu-loops: linalg ops of up to two loops become parallel chunks with
// whole vectors along the last dimension, or, where it is reduced, of whole
// rows.
//
//===----------------------------------------------------------------------===//

#include "LoopNest.h"

#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/IR/IRMapping.h"

namespace mlir::tenon {
#define GEN_PASS_DEF_TENONCPULOOPS
#include "tenon/Codegen/CPU/Passes.h.inc"
} // namespace mlir::tenon

using namespace mlir;
using namespace mlir::tenon;

//===----------------------------------------------------------------------===//
// What can be done
//===----------------------------------------------------------------------===//

/// The operand is read by single elements, or along its contiguous last
/// dimension by the loops' last.
static bool isAccessSimple(linalg::LinalgOp op, OpOperand &operand) {
  AffineMap map = op.getMatchingIndexingMap(&operand);
  auto type = dyn_cast<MemRefType>(operand.get().getType());
  if (!type)
    return map.getNumResults() == 0; // a scalar
  for (auto [index, result] : llvm::enumerate(map.getResults())) {
    if (isa<AffineConstantExpr>(result))
      continue;
    auto dim = dyn_cast<AffineDimExpr>(result);
    if (!dim)
      return false;
    bool isLast = index + 1 == map.getNumResults();
    if (dim.getPosition() + 1 == op.getNumLoops() &&
        !(isLast && type.isLastDimUnitStride()))
      return false;
  }
  return true;
}

/// Whether an element of each row joins what the ones before it gave.
static bool reducesColumns(linalg::LinalgOp op) {
  SmallVector<utils::IteratorType> iterators = op.getIteratorTypesArray();
  return iterators.size() == 2 &&
         iterators[0] == utils::IteratorType::parallel &&
         iterators[1] == utils::IteratorType::reduction;
}

/// The loops run over at most two dimensions, the last of them along vectors
/// unless it is reduced.
static bool isSimple(linalg::LinalgOp op) {
  unsigned loops = op.getNumLoops();
  SmallVector<utils::IteratorType> iterators = op.getIteratorTypesArray();
  if (!op.hasPureBufferSemantics() || loops > 2 ||
      (loops != 0 && iterators.back() != utils::IteratorType::parallel &&
       !reducesColumns(op)))
    return false;
  for (OpOperand &operand : op->getOpOperands())
    if (!isAccessSimple(op, operand))
      return false;
  for (OpOperand &init : op.getDpsInitsMutable())
    if (loops != 0 && !reducesColumns(op) &&
        !op.getMatchingIndexingMap(&init).isFunctionOfDim(loops - 1))
      return false;
  return llvm::all_of(
      op.getBlock()->without_terminator(), [&](Operation &inner) {
        auto index = dyn_cast<linalg::IndexOp>(inner);
        bool isUniform =
            index ? index.getDim() + 1 != loops : inner.getNumOperands() == 0;
        return isUniform || OpTrait::hasElementwiseMappableTraits(&inner);
      });
}

//===----------------------------------------------------------------------===//
// One element or one vector
//===----------------------------------------------------------------------===//

namespace {
/// Emits the body of `op` for one position, `width` elements at once.
class BodyEmitter {
public:
  BodyEmitter(LoopNest nest, linalg::LinalgOp op, ValueRange indices,
              int64_t width)
      : nest(nest), builder(nest.builder), op(op), indices(indices),
        width(width) {}

  void emit();

private:
  bool isVector(AffineMap map) {
    return width > 1 && map.isFunctionOfDim(op.getNumLoops() - 1);
  }
  SmallVector<Value> getPosition(AffineMap map);
  Value load(OpOperand &operand);
  void store(Value value, OpOperand &init);
  Value splat(Value value);
  void clone(Operation &inner);

  LoopNest nest;
  OpBuilder &builder;
  linalg::LinalgOp op;
  ValueRange indices;
  int64_t width;
  IRMapping mapping;
};
} // namespace

SmallVector<Value> BodyEmitter::getPosition(AffineMap map) {
  return llvm::map_to_vector(map.getResults(), [&](AffineExpr expr) -> Value {
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      return indices[dim.getPosition()];
    return nest.index(cast<AffineConstantExpr>(expr).getValue());
  });
}

Value BodyEmitter::load(OpOperand &operand) {
  Value source = operand.get();
  auto type = dyn_cast<MemRefType>(source.getType());
  if (!type)
    return source;
  AffineMap map = op.getMatchingIndexingMap(&operand);
  SmallVector<Value> position = getPosition(map);
  if (!isVector(map))
    return memref::LoadOp::create(builder, nest.loc, source, position);
  return vector::LoadOp::create(builder, nest.loc,
                                VectorType::get(width, type.getElementType()),
                                source, position);
}

Value BodyEmitter::splat(Value value) {
  if (isa<VectorType>(value.getType()))
    return value;
  return vector::BroadcastOp::create(
      builder, nest.loc, VectorType::get(width, value.getType()), value);
}

void BodyEmitter::store(Value value, OpOperand &init) {
  AffineMap map = op.getMatchingIndexingMap(&init);
  SmallVector<Value> position = getPosition(map);
  if (isVector(map))
    vector::StoreOp::create(builder, nest.loc, splat(value), init.get(),
                            position);
  else
    memref::StoreOp::create(builder, nest.loc, value, init.get(), position);
}

/// Clones an op, on vectors where an operand is one. What is the same for all
/// elements stays a scalar, for LLVM to hoist.
void BodyEmitter::clone(Operation &inner) {
  if (auto index = dyn_cast<linalg::IndexOp>(inner)) {
    mapping.map(index.getResult(), indices[index.getDim()]);
    return;
  }
  bool isOnVectors = llvm::any_of(inner.getOperands(), [&](Value operand) {
    return isa<VectorType>(mapping.lookupOrDefault(operand).getType());
  });
  if (isOnVectors)
    for (Value operand : inner.getOperands())
      mapping.map(operand, splat(mapping.lookupOrDefault(operand)));
  Operation *copy = builder.clone(inner, mapping);
  if (isOnVectors)
    for (Value result : copy->getResults())
      result.setType(VectorType::get(width, result.getType()));
}

void BodyEmitter::emit() {
  Block *body = op.getBlock();
  for (OpOperand &operand : op->getOpOperands()) {
    BlockArgument element = op.getMatchingBlockArgument(&operand);
    if (!element.use_empty())
      mapping.map(element, load(operand));
  }
  for (Operation &inner : body->without_terminator())
    clone(inner);
  for (auto [value, init] :
       llvm::zip(body->getTerminator()->getOperands(), op.getDpsInitsMutable()))
    store(mapping.lookupOrDefault(value), init);
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

namespace {
/// Extents of the chunks that run in parallel.
struct Chunks {
  int64_t rows, columns;
};
} // namespace

/// Enough elements to be worth a thread. A reduction over the rows is not
/// split; its chunks are wide enough to use whole cache lines and pages, and
/// narrow enough for 16 threads and for their state to stay in cache.
static Chunks chooseChunks(int64_t numColumns, bool reducesRows) {
  constexpr int64_t kElements = 16384, kMaxColumns = 4096;
  if (ShapedType::isDynamic(numColumns))
    numColumns = kMaxColumns;
  if (reducesRows)
    return {0,
            std::clamp<int64_t>(llvm::alignTo(numColumns / 16, 64), 64, 512)};
  int64_t columns = std::min(numColumns, kMaxColumns);
  return {kElements / std::max<int64_t>(columns, 1), kMaxColumns};
}

/// Elements a vector holds: of the widest type in the body. One where booleans
/// are read or written, of which memory has a byte each and a vector a bit.
static int64_t chooseWidth(linalg::LinalgOp op, unsigned vectorBits) {
  if (llvm::any_of(op.getBlock()->getArgumentTypes(),
                   [](Type type) { return type.isInteger(1); }))
    return 1;
  unsigned bits = 1;
  auto visit = [&](TypeRange types) {
    for (Type type : types)
      if (isa<FloatType>(type))
        bits = std::max(bits, type.getIntOrFloatBitWidth());
  };
  visit(op.getBlock()->getArgumentTypes());
  for (Operation &inner : *op.getBlock())
    visit(inner.getResultTypes());
  return vectorBits / bits;
}

/// Whole vectors, then single elements, of columns [begin, end) of a row.
static void emitRow(LoopNest nest, linalg::LinalgOp op,
                    ArrayRef<Value> outerIndices, Value begin, Value end,
                    int64_t numColumns, int64_t width) {
  auto body = [&](Value column, int64_t bodyWidth) {
    SmallVector<Value> indices(outerIndices);
    indices.push_back(column);
    BodyEmitter(nest, op, indices, bodyWidth).emit();
  };
  Value vectorEnd = end;
  if (ShapedType::isDynamic(numColumns) || numColumns % width != 0)
    vectorEnd = nest.add(begin, nest.floorTo(nest.sub(end, begin), width));
  nest.loop(begin, vectorEnd, width,
            [&](Value column) { body(column, width); });
  if (vectorEnd != end)
    nest.loop(vectorEnd, end, 1, [&](Value column) { body(column, 1); });
}

static void lowerToLoops(linalg::LinalgOp op, OpBuilder &builder,
                         unsigned vectorBits) {
  LoopNest nest{builder, op.getLoc()};
  unsigned loops = op.getNumLoops();
  if (loops == 0)
    return BodyEmitter(nest, op, {}, /*width=*/1).emit();
  SmallVector<Value> extents = llvm::map_to_vector(
      op.createLoopRanges(builder, nest.loc), [&](const Range &range) {
        return getValueOrCreateConstantIndexOp(builder, nest.loc, range.size);
      });
  SmallVector<int64_t> staticExtents = op.getStaticLoopRanges();
  bool wholeRows = reducesColumns(op);
  bool reducesRows = op.getNumReductionLoops() != 0 && !wholeRows;
  Chunks chunks = chooseChunks(staticExtents.back(), reducesRows);
  int64_t width = wholeRows ? 1 : chooseWidth(op, vectorBits);
  Value columns = extents.back();
  SmallVector<Value> counts;
  bool splitsRows = loops == 2 && !reducesRows;
  if (splitsRows)
    counts.push_back(nest.ceilDiv(extents[0], chunks.rows));
  if (!wholeRows)
    counts.push_back(nest.ceilDiv(columns, chunks.columns));
  nest.parallel(counts, [&](ValueRange chunk) {
    Value begin = nest.index(0), end = columns;
    if (!wholeRows) {
      begin = nest.mul(chunk.back(), chunks.columns);
      end = nest.min(columns, nest.add(begin, nest.index(chunks.columns)));
    }
    if (loops == 1)
      return emitRow(nest, op, {}, begin, end, staticExtents.back(), width);
    Value rowBegin = nest.index(0), rowEnd = extents[0];
    if (splitsRows) {
      rowBegin = nest.mul(chunk[0], chunks.rows);
      rowEnd = nest.min(rowEnd, nest.add(rowBegin, nest.index(chunks.rows)));
    }
    nest.loop(rowBegin, rowEnd, 1, [&](Value row) {
      emitRow(nest, op, row, begin, end, staticExtents.back(), width);
    });
  });
}

namespace {
struct CPULoopsPass : tenon::impl::TenonCPULoopsBase<CPULoopsPass> {
  using TenonCPULoopsBase::TenonCPULoopsBase;

  void runOnOperation() override {
    SmallVector<linalg::LinalgOp> ops;
    getOperation()->walk([&](linalg::LinalgOp op) { ops.push_back(op); });
    IRRewriter rewriter(&getContext());
    for (linalg::LinalgOp op : ops) {
      rewriter.setInsertionPoint(op);
      if (isSimple(op)) {
        lowerToLoops(op, rewriter, vectorBits);
      } else if (!op.hasPureBufferSemantics() ||
                 failed(linalg::linalgOpToLoops(rewriter, op))) {
        op->emitOpError("cannot become loops: its operands must be buffers; "
                        "run --tenon-bufferize first");
        return signalPassFailure();
      }
      rewriter.eraseOp(op);
    }
  }
};
} // namespace
