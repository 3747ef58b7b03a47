//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Looks for negative factors. They are f32 and never -0, so the sign bit tells.
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

/// The bits of a thread's share of `rows` factors, or-ed. Rows beyond the last
/// are the last one again.
static Value scanFactors(TiledFrame &frame, Value factors, Value rows) {
  KernelBuilder &b = frame.b;
  int64_t width = frame.geometry.isAligned ? 4 : 1;
  int64_t threads = frame.geometry.threads();
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
      bits = b.bitOr(bits, loadBits(b, factors, group, width));
    }
    scf::YieldOp::create(b, bits);
  }
  if (width == 1)
    return loop.getResult(0);
  // Those that make no group of four.
  Value rest = b.add(b.mul(groups, width), b.bitAnd(frame.thread, width - 1));
  Value bits = loadBits(b, factors, b.min(rest, b.sub(rows, 1)), 1);
  for (int64_t i = 0; i != width; ++i)
    bits = b.bitOr(bits, vector::ExtractOp::create(b, loop.getResult(0), i));
  return bits;
}

Value tenon::emitHasRowsOutside(TiledFrame &frame) {
  KernelBuilder &b = frame.b;
  Value ofX = scanFactors(frame, frame.factors[0], frame.m);
  Value ofW = scanFactors(frame, frame.factors[1], b.i32(frame.geometry.n));
  return emitAnyNegative(b, b.bitOr(ofX, ofW));
}

Value tenon::emitHasRowsOutside(TiledFrame &frame, const WorkItem &item) {
  KernelBuilder &b = frame.b;
  const TileGeometry &geometry = frame.geometry;
  int64_t rows = geometry.tileM + geometry.tileN;
  Value bits = b.i32(0);
  for (int64_t first = 0; first < rows; first += geometry.threads()) {
    // x's rows of the tile, then w's.
    Value index = b.min(b.add(frame.thread, first), b.i32(rows - 1));
    Value isOfX = b.less(index, geometry.tileM);
    Value ofX = b.min(b.add(item.row, index), b.sub(frame.m, 1));
    Value ofW = b.min(b.add(item.column, b.sub(index, geometry.tileM)),
                      b.i32(geometry.n - 1));
    Value factors = b.select(isOfX, frame.factors[0], frame.factors[1]);
    bits = b.bitOr(bits, loadBits(b, factors, b.select(isOfX, ofX, ofW), 1));
  }
  return emitAnyNegative(b, bits);
}
