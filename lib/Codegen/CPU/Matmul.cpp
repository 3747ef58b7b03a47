//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// --tenon-cpu-matmul: which products, and the extents of their blocks.
//
//===----------------------------------------------------------------------===//

#include "MatmulKernel.h"

#include "mlir/Dialect/Linalg/IR/LinalgInterfaces.h"

namespace mlir::tenon {
#define GEN_PASS_DEF_TENONCPUMATMUL
#include "tenon/Codegen/CPU/Passes.h.inc"
} // namespace mlir::tenon

using namespace mlir;
using namespace mlir::tenon;

//===----------------------------------------------------------------------===//
// Which ops are products
//===----------------------------------------------------------------------===//

namespace {
/// What an op multiplies: for each iteration of the loops `batch`, matrices.
struct Product {
  SmallVector<unsigned, 2> batch;
  unsigned m, n, k;
};
} // namespace

/// The sum of what two operands are multiplied to, extended or not.
static bool isProductBody(Block &body) {
  return llvm::all_of(body, [](Operation &inner) {
    return isa<arith::ExtFOp, arith::MulFOp, arith::AddFOp, linalg::YieldOp>(
        inner);
  });
}

/// Whether an operand is indexed by loops alone, and last by `loop`, along
/// which its elements are contiguous.
static bool isContiguousAlong(linalg::LinalgOp op, OpOperand &operand,
                              unsigned loop) {
  AffineMap map = op.getMatchingIndexingMap(&operand);
  return map.isProjectedPermutation() && map.getNumResults() >= 2 &&
         map.getDimPosition(map.getNumResults() - 1) == loop &&
         cast<MemRefType>(operand.get().getType()).isLastDimUnitStride();
}

/// x[m,k] w[n,k], or w[k,n], on buffers, of any batch; N and K static. Rows of
/// x and y are contiguous, those of w where it is no batch.
static std::optional<Product> getProduct(linalg::LinalgOp op) {
  if (!op.hasPureBufferSemantics() || !linalg::isaContractionOpInterface(op) ||
      !isProductBody(*op.getBlock()))
    return std::nullopt;
  FailureOr<linalg::ContractionDimensions> dims =
      linalg::inferContractionDims(op);
  if (failed(dims) || dims->m.size() != 1 || dims->n.size() != 1 ||
      dims->k.size() != 1)
    return std::nullopt;
  Product product{dims->batch, dims->m[0], dims->n[0], dims->k[0]};
  OpOperand &w = *op.getDpsInputOperand(1), &y = *op.getDpsInitOperand(0);
  auto wType = cast<MemRefType>(w.get().getType());
  if (!isContiguousAlong(op, *op.getDpsInputOperand(0), product.k) ||
      !isContiguousAlong(op, y, product.n) ||
      !op.getMatchingIndexingMap(&w).isProjectedPermutation() ||
      !wType.hasStaticShape() ||
      !isa<FloatType>(cast<MemRefType>(y.get().getType()).getElementType()))
    return std::nullopt;
  if (product.batch.empty() && !isContiguousAlong(op, w, product.k))
    return std::nullopt;
  return product;
}

/// The register tile fills the registers (16, or 32 of 512 bits) but those for
/// two vectors of w and one of x. A packed block of w takes a quarter of a
/// 1 MiB second-level cache, one panel of it half of the first level.
static MatmulBlocks chooseBlocks(int64_t n, int64_t k, int64_t elementBits,
                                 unsigned vectorBits) {
  MatmulBlocks blocks;
  blocks.lanes = vectorBits / elementBits;
  blocks.rows = vectorBits == 512 ? 12 : 6;
  blocks.columns = 2 * blocks.lanes;
  blocks.depth = std::clamp<int64_t>(k, 1, 256);
  blocks.packedRows = 96;
  blocks.packedColumns = std::min<int64_t>(
      llvm::alignTo(std::max<int64_t>(n, 1), blocks.columns), 256);
  blocks.taskRows = 6 * blocks.packedRows;
  return blocks;
}

/// The matrix of `rows` and `columns` that an operand has at `position`, the
/// indices of batch loops.
static Value getMatrix(LoopNest nest, linalg::LinalgOp op, OpOperand &operand,
                       unsigned rows, unsigned columns,
                       const llvm::SmallDenseMap<unsigned, Value> &position) {
  AffineMap map = op.getMatchingIndexingMap(&operand);
  Value memref = operand.get();
  if (map.getNumResults() > 2) {
    OpBuilder &builder = nest.builder;
    auto type = cast<MemRefType>(memref.getType());
    SmallVector<OpFoldResult> offsets, sizes,
        strides(type.getRank(), builder.getIndexAttr(1));
    SmallVector<int64_t> shape;
    for (auto [dim, extent] : llvm::enumerate(type.getShape())) {
      Value index = position.lookup(map.getDimPosition(dim));
      offsets.push_back(index ? OpFoldResult(index) : builder.getIndexAttr(0));
      sizes.push_back(index ? builder.getIndexAttr(1)
                      : ShapedType::isDynamic(extent)
                          ? OpFoldResult(nest.dim(memref, dim))
                          : builder.getIndexAttr(extent));
      if (!index)
        shape.push_back(extent);
    }
    auto matrix = memref::SubViewOp::inferRankReducedResultType(
        shape, type, offsets, sizes, strides);
    memref =
        memref::SubViewOp::create(builder, nest.loc, cast<MemRefType>(matrix),
                                  memref, offsets, sizes, strides);
  }
  auto place = [&](unsigned loop) {
    return *map.getResultPosition(
        getAffineDimExpr(loop, nest.builder.getContext()));
  };
  if (place(rows) < place(columns))
    return memref;
  auto turned = AffineMap::getPermutationMap(ArrayRef<unsigned>{1, 0},
                                             nest.builder.getContext());
  return memref::TransposeOp::create(nest.builder, nest.loc, memref,
                                     AffineMapAttr::get(turned));
}

static void lowerProduct(linalg::LinalgOp op, const Product &product,
                         OpBuilder &builder, unsigned vectorBits) {
  OpOperand &x = *op.getDpsInputOperand(0), &w = *op.getDpsInputOperand(1),
            &y = *op.getDpsInitOperand(0);
  LoopNest nest{builder, op.getLoc()};
  SmallVector<Range> loops = op.createLoopRanges(builder, op.getLoc());
  AffineMap map = op.getMatchingIndexingMap(&w);
  auto wType = cast<MemRefType>(w.get().getType());
  auto extent = [&](unsigned loop) {
    return wType.getDimSize(
        *map.getResultPosition(getAffineDimExpr(loop, op.getContext())));
  };
  MatmulBlocks blocks = chooseBlocks(
      extent(product.n), extent(product.k),
      cast<MemRefType>(y.get().getType()).getElementTypeBitWidth(), vectorBits);
  auto count = [&](unsigned loop) {
    return getValueOrCreateConstantIndexOp(builder, op.getLoc(),
                                           loops[loop].size);
  };
  SmallVector<Value> counts = llvm::map_to_vector(product.batch, count);
  counts.push_back(nest.ceilDiv(count(product.m), blocks.taskRows));
  counts.push_back(nest.ceilDiv(count(product.n), blocks.packedColumns));
  nest.parallel(counts, [&](ValueRange task) {
    llvm::SmallDenseMap<unsigned, Value> position;
    for (auto [loop, index] : llvm::zip(product.batch, task))
      position[loop] = index;
    auto matrix = [&](OpOperand &operand, unsigned rows, unsigned columns) {
      return getMatrix(nest, op, operand, rows, columns, position);
    };
    Value rows = matrix(x, product.m, product.k);
    Value weights = matrix(w, product.n, product.k);
    Value results = matrix(y, product.m, product.n);
    ValueRange tile = task.take_back(2);
    MatmulKernel(builder, op.getLoc(), rows, weights, results, blocks)
        .emitTask(tile[0], tile[1]);
  });
}

namespace {
struct CPUMatmulPass : tenon::impl::TenonCPUMatmulBase<CPUMatmulPass> {
  using TenonCPUMatmulBase::TenonCPUMatmulBase;

  void runOnOperation() override {
    SmallVector<std::pair<linalg::LinalgOp, Product>> products;
    getOperation()->walk([&](linalg::LinalgOp op) {
      if (std::optional<Product> product = getProduct(op))
        products.emplace_back(op, *product);
    });
    for (const auto &[op, product] : products) {
      OpBuilder builder(op);
      lowerProduct(op, product, builder, vectorBits);
      op->erase();
    }
  }
};
} // namespace
