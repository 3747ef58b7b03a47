//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Looks for factors of rows outside. They are f32 and never -0, so the sign bit
// tells, which those of w that are too small or too large are given as well.
//
//===----------------------------------------------------------------------===//

#include "RangeGuard.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::tenon;

/// Loads of a thread on their way at a time, so that they do not wait for one
/// another.
static constexpr int64_t kLoads = 4;

/// The bits of a factor, or of `width` neighbours.
static Value loadBits(KernelBuilder &b, Value factors, Value index,
                      int64_t width) {
  Type type = b.getI32Type();
  if (width != 1)
    type = VectorType::get(width, type);
  Value place = b.offset(factors, b.mul(b.toI64(index), 4 * width));
  return LLVM::LoadOp::create(b, type, place, /*alignment=*/4 * width);
}

/// The bits of factors of w, with the sign bit where a sum, a multiple of 2^-48
/// below 2^55, need not be exact when it is multiplied by one: f32 has bits
/// from 2^-149 on, and ends at 2^128.
static Value markUnfit(KernelBuilder &b, Value bits) {
  auto constant = [&](int32_t exponent) -> Value {
    TypedAttr value = b.getI32IntegerAttr((exponent + 127) << 23);
    if (auto type = dyn_cast<VectorType>(bits.getType()))
      value = DenseElementsAttr::get(type, Attribute(value));
    return arith::ConstantOp::create(b, value);
  };
  Value tooSmall = arith::SubIOp::create(b, bits, constant(-101));
  Value tooLarge = arith::SubIOp::create(b, constant(72), bits);
  return b.bitOr(bits, b.bitOr(tooSmall, tooLarge));
}

/// Whether `bits` have the sign bit in any thread of the block.
static Value emitAnyNegative(KernelBuilder &b, Value bits) {
  Value negative = b.toI32(b.less(bits, 0));
  auto reduction = NVVM::BarrierReductionAttr::get(b.getContext(),
                                                   NVVM::BarrierReduction::OR);
  Value any =
      NVVM::BarrierOp::create(b, b.getI32Type(), /*barrierId=*/Value(),
                              /*numberOfThreads=*/Value(), reduction, negative)
          .getResult(0);
  return b.less(b.i32(0), any);
}

/// The bits of a thread's share of `rows` factors, of x or of a w, or-ed. Rows
/// beyond the last are the last one again.
static Value scanFactors(TiledFrame &frame, size_t number, Value rows) {
  Value factors = frame.factors[number];
  bool areOfW = number != 0;
  KernelBuilder &b = frame.b;
  int64_t width = frame.geometry.isAligned ? 4 : 1;
  int64_t threads = frame.geometry.threads();
  auto load = [&](Value index, int64_t count) {
    Value bits = loadBits(b, factors, index, count);
    return areOfW ? markUnfit(b, bits) : bits;
  };
  Value groups = b.div(rows, width), last = b.sub(groups, 1);
  Value none = width == 1
                   ? b.i32(0)
                   : arith::ConstantOp::create(
                         b, b.getI32VectorAttr(SmallVector<int32_t>(width, 0)));
  auto loop = scf::ForOp::create(b, frame.thread, groups,
                                 b.i32(kLoads * threads), none);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value bits = loop.getRegionIterArg(0);
    for (int64_t i = 0; i != kLoads; ++i) {
      Value group = b.min(b.add(loop.getInductionVar(), i * threads), last);
      bits = b.bitOr(bits, load(group, width));
    }
    scf::YieldOp::create(b, bits);
  }
  if (width == 1)
    return loop.getResult(0);
  // Those that make no group of four.
  Value rest = b.add(b.mul(groups, width), b.bitAnd(frame.thread, width - 1));
  Value bits = load(b.min(rest, b.sub(rows, 1)), 1);
  for (int64_t i = 0; i != width; ++i)
    bits = b.bitOr(bits, vector::ExtractOp::create(b, loop.getResult(0), i));
  return bits;
}

Value tenon::emitHasRowsOutside(TiledFrame &frame) {
  KernelBuilder &b = frame.b;
  Value bits = scanFactors(frame, 0, frame.m);
  for (size_t w = 1; w != frame.factors.size(); ++w)
    bits = b.bitOr(bits, scanFactors(frame, w, b.i32(frame.geometry.n)));
  return emitAnyNegative(b, bits);
}

Value tenon::emitHasRowsOutside(TiledFrame &frame, const WorkItem &item) {
  KernelBuilder &b = frame.b;
  const TileGeometry &geometry = frame.geometry;
  int64_t weights = frame.factors.size() - 1;
  int64_t rows = geometry.tileM + weights * geometry.tileN;
  Value bits = b.i32(0);
  if (geometry.exchangesRows())
    for (int64_t w = 1; w <= weights; ++w)
      bits = b.bitOr(bits, scanFactors(frame, w, b.i32(geometry.n)));
  for (int64_t first = 0; first < rows; first += geometry.threads()) {
    // x's rows of the tile, then each w's.
    Value index = b.min(b.add(frame.thread, first), b.i32(rows - 1));
    Value isOfX = b.less(index, geometry.tileM);
    Value ofX = b.min(b.add(item.row, index), b.sub(frame.m, 1));
    Value inW = b.sub(index, geometry.tileM), factorsOfW = frame.factors[1];
    for (int64_t w = 1; w != weights; ++w) {
      Value isOfNext = b.less(b.i32(w * geometry.tileN - 1), inW);
      factorsOfW = b.select(isOfNext, frame.factors[1 + w], factorsOfW);
    }
    if (weights != 1)
      inW = b.rem(inW, geometry.tileN);
    Value ofW = b.min(b.add(item.column, inW), b.i32(geometry.n - 1));
    Value factors = b.select(isOfX, frame.factors[0], factorsOfW);
    Value own = loadBits(b, factors, b.select(isOfX, ofX, ofW), 1);
    bits = b.bitOr(bits, b.select(isOfX, own, markUnfit(b, own)));
  }
  return emitAnyNegative(b, bits);
}
