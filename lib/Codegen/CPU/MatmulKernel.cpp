//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The product on the CPU, as in BLIS: panels of w packed with n along vectors,
// rows of x broadcast, accumulators in registers. Padding with zeros takes the
// place of kernels for the edges; only the last step, adding to y, has edges.
//
// Source: Van Zee and van de Geijn, BLIS, ACM TOMS 41 (3), 2015.
//
//===----------------------------------------------------------------------===//

#include "MatmulKernel.h"

#include "LinalgMap.h"

using namespace mlir;
using namespace mlir::tenon;

MatmulKernel::MatmulKernel(OpBuilder &builder, Location loc, Value x, Value w,
                           Value y, const MatmulBlocks &blocks)
    : builder(builder), loc(loc), nest{builder, loc}, x(x), w(w), y(y),
      blocks(blocks) {
  auto wType = cast<MemRefType>(w.getType());
  type = cast<FloatType>(cast<MemRefType>(y.getType()).getElementType());
  n = wType.getDimSize(0);
  k = wType.getDimSize(1);
}

/// `lanes` elements (1: a scalar) in the accumulators' type.
Value MatmulKernel::loadWide(Value memref, ValueRange position, int64_t lanes) {
  Type stored = cast<MemRefType>(memref.getType()).getElementType();
  Value value;
  Type wide = type;
  if (lanes == 1) {
    value = memref::LoadOp::create(builder, loc, memref, position);
  } else {
    wide = VectorType::get(lanes, type);
    value = vector::LoadOp::create(builder, loc, VectorType::get(lanes, stored),
                                   memref, position);
  }
  return stored == type ? value
                        : arith::ExtFOp::create(builder, loc, wide, value);
}

//===----------------------------------------------------------------------===//
// Packing
//===----------------------------------------------------------------------===//

/// packedW[panel, k, column]: rows of w become columns of a panel. A row is
/// read along k, so that one cache line is open for reading.
void MatmulKernel::packW(Value columnBegin, Value columnEnd, Value k,
                         Value length) {
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getFloatAttr(type, 0.0));
  Value count = nest.sub(columnEnd, columnBegin);
  Value padded = nest.ceilTo(count, blocks.columns);
  nest.loop(nest.index(0), padded, 1, [&](Value offset) {
    Value panel = arith::DivUIOp::create(builder, loc, offset,
                                         nest.index(blocks.columns));
    Value column = arith::RemUIOp::create(builder, loc, offset,
                                          nest.index(blocks.columns));
    auto fill = [&](function_ref<Value(Value)> element) {
      nest.loop(nest.index(0), length, 1, [&](Value inner) {
        memref::StoreOp::create(builder, loc, element(inner), packedW,
                                ValueRange{panel, inner, column});
      });
    };
    nest.branch(
        nest.less(offset, count),
        [&] {
          Value row = nest.add(columnBegin, offset);
          fill([&](Value inner) {
            return loadWide(w, {row, nest.add(k, inner)}, /*lanes=*/1);
          });
        },
        [&] { fill([&](Value) { return zero; }); });
  });
}

/// packedX[row, k]: contiguous, so that rows do not share cache sets as rows of
/// x a power of two apart do.
void MatmulKernel::packX(Value rowBegin, Value count, Value k, Value length) {
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getFloatAttr(type, 0.0));
  Value vectorEnd = nest.floorTo(length, blocks.lanes);
  nest.loop(nest.index(0), nest.ceilTo(count, blocks.rows), 1, [&](Value row) {
    auto copyRow = [&] {
      Value source = nest.add(rowBegin, row);
      auto copy = [&](Value inner, int64_t lanes) {
        Value value = loadWide(x, {source, nest.add(k, inner)}, lanes);
        SmallVector<Value> position{row, inner};
        if (lanes == 1)
          memref::StoreOp::create(builder, loc, value, packedX, position);
        else
          vector::StoreOp::create(builder, loc, value, packedX, position);
      };
      nest.loop(nest.index(0), vectorEnd, blocks.lanes,
                [&](Value inner) { copy(inner, blocks.lanes); });
      nest.loop(vectorEnd, length, 1, [&](Value inner) { copy(inner, 1); });
    };
    nest.branch(nest.less(row, count), copyRow, [&] {
      nest.loop(nest.index(0), length, 1, [&](Value inner) {
        memref::StoreOp::create(builder, loc, zero, packedX,
                                ValueRange{row, inner});
      });
    });
  });
}

//===----------------------------------------------------------------------===//
// The register tile
//===----------------------------------------------------------------------===//

/// The sums over k of a register tile, row by row. `panel` is a panel of
/// packedW, `row` the tile's first row in packedX.
SmallVector<Value> MatmulKernel::emitRegisterTile(Value panel, Value row,
                                                  Value length) {
  auto vectorType = VectorType::get(blocks.lanes, type);
  int64_t vectors = blocks.columns / blocks.lanes;
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getZeroAttr(vectorType));
  SmallVector<Value> zeros(blocks.rows * vectors, zero);
  SmallVector<Value> rows;
  for (int64_t i = 0; i < blocks.rows; ++i)
    rows.push_back(nest.add(row, nest.index(i)));
  auto loop = scf::ForOp::create(builder, loc, nest.index(0), length,
                                 nest.index(1), zeros);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Value inner = loop.getInductionVar();
  SmallVector<Value> right, sums;
  for (int64_t j = 0; j < vectors; ++j)
    right.push_back(vector::LoadOp::create(
        builder, loc, vectorType, packedW,
        ValueRange{panel, inner, nest.index(j * blocks.lanes)}));
  // Multiply and add, not vector.fma: a CPU without fma would call a function.
  auto contract = arith::FastMathFlags::contract;
  for (int64_t i = 0; i < blocks.rows; ++i) {
    Value element = memref::LoadOp::create(builder, loc, packedX,
                                           ValueRange{rows[i], inner});
    Value left = vector::BroadcastOp::create(builder, loc, vectorType, element);
    for (int64_t j = 0; j < vectors; ++j) {
      Value product =
          arith::MulFOp::create(builder, loc, left, right[j], contract);
      Value sum = loop.getRegionIterArg(i * vectors + j);
      sums.push_back(
          arith::AddFOp::create(builder, loc, sum, product, contract));
    }
  }
  scf::YieldOp::create(builder, loc, sums);
  return llvm::to_vector_of<Value>(loop.getResults());
}

/// y[row, column ...] += sum, for the columns that y has.
void MatmulKernel::addVector(Value sum, Value row, Value column,
                             bool isMasked) {
  auto vectorType = cast<VectorType>(sum.getType());
  SmallVector<Value> position{row, column};
  if (!isMasked) {
    Value old = vector::LoadOp::create(builder, loc, vectorType, y, position);
    Value result = arith::AddFOp::create(builder, loc, old, sum);
    vector::StoreOp::create(builder, loc, result, y, position);
    return;
  }
  Value left = nest.sub(nest.index(n), column);
  Value mask = vector::CreateMaskOp::create(
      builder, loc, vectorType.clone(builder.getI1Type()), left);
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getZeroAttr(vectorType));
  Value old = vector::MaskedLoadOp::create(builder, loc, vectorType, y,
                                           position, mask, zero);
  Value result = arith::AddFOp::create(builder, loc, old, sum);
  vector::MaskedStoreOp::create(builder, loc, y, position, mask, result);
}

void MatmulKernel::addToResult(ArrayRef<Value> tile, Value row, Value rowEnd,
                               Value column) {
  int64_t vectors = blocks.columns / blocks.lanes;
  for (int64_t i = 0; i < blocks.rows; ++i) {
    Value target = nest.add(row, nest.index(i));
    auto addRow = [&](bool isMasked) {
      for (int64_t j = 0; j < vectors; ++j)
        addVector(tile[i * vectors + j], target,
                  nest.add(column, nest.index(j * blocks.lanes)), isMasked);
    };
    nest.branch(nest.less(target, rowEnd), [&] {
      if (n % blocks.columns == 0)
        return addRow(/*isMasked=*/false);
      Value end = nest.add(column, nest.index(blocks.columns - 1));
      nest.branch(
          nest.less(end, nest.index(n)), [&] { addRow(/*isMasked=*/false); },
          [&] { addRow(/*isMasked=*/true); });
    });
  }
}

//===----------------------------------------------------------------------===//
// The task
//===----------------------------------------------------------------------===//

void MatmulKernel::emitTask(Value rowTile, Value columnTile) {
  auto alignment = builder.getI64IntegerAttr(64);
  auto allocate = [&](ArrayRef<int64_t> shape) -> Value {
    return memref::AllocaOp::create(builder, loc, MemRefType::get(shape, type),
                                    alignment);
  };
  packedW = allocate(
      {blocks.packedColumns / blocks.columns, blocks.depth, blocks.columns});
  packedX = allocate({blocks.packedRows, blocks.depth});

  Value rowBegin = nest.mul(rowTile, blocks.taskRows);
  Value rowEnd =
      nest.min(nest.dim(y, 0), nest.add(rowBegin, nest.index(blocks.taskRows)));
  Value columnBegin = nest.mul(columnTile, blocks.packedColumns);
  Value columnEnd = nest.min(
      nest.index(n), nest.add(columnBegin, nest.index(blocks.packedColumns)));
  Value panels = nest.ceilDiv(nest.sub(columnEnd, columnBegin), blocks.columns);

  nest.loop(nest.index(0), nest.index(k), blocks.depth, [&](Value depth) {
    Value length =
        nest.min(nest.index(blocks.depth), nest.sub(nest.index(k), depth));
    packW(columnBegin, columnEnd, depth, length);
    nest.loop(rowBegin, rowEnd, blocks.packedRows, [&](Value block) {
      Value count =
          nest.min(nest.index(blocks.packedRows), nest.sub(rowEnd, block));
      packX(block, count, depth, length);
      nest.loop(nest.index(0), panels, 1, [&](Value panel) {
        Value column = nest.add(columnBegin, nest.mul(panel, blocks.columns));
        nest.loop(nest.index(0), count, blocks.rows, [&](Value row) {
          SmallVector<Value> tile = emitRegisterTile(panel, row, length);
          addToResult(tile, nest.add(block, row), rowEnd, column);
        });
      });
    });
  });
}
