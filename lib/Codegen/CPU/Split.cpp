//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// --tenon-cpu-split: tenon.split as loops over rows, each of which goes by
// twice.
//
//===----------------------------------------------------------------------===//

#include "LoopNest.h"

#include "tenon/Dialect/Tenon/IR/SplitArithmetic.h"
#include "tenon/Dialect/Tenon/IR/Tenon.h"

namespace mlir::tenon {
#define GEN_PASS_DEF_TENONCPUSPLIT
#include "tenon/Codegen/CPU/Passes.h.inc"
} // namespace mlir::tenon

using namespace mlir;
using namespace mlir::tenon;

namespace {
/// Emits the work on a row.
class SplitRow {
public:
  SplitRow(OpBuilder &builder, SplitOp op, Value row)
      : builder(builder), loc(op.getLoc()), nest{builder, loc}, op(op),
        row(row), x(op.getX()), halves(op.getHalves()),
        k(cast<MemRefType>(x.getType()).getDimSize(1)) {}

  void emit();

  /// Elements at once. Halves hold a multiple of them, so that only reads of x
  /// have an edge.
  static constexpr int64_t kLanes = 8;

private:
  VectorType vectorOf(Type type) { return VectorType::get(kLanes, type); }
  Value zero(Type type) {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getZeroAttr(vectorOf(type)));
  }
  Value load(Value column, bool isMasked);
  Value reduce(vector::CombiningKind kind,
               function_ref<Value(Value, Value)> element);
  Value emitParts(Value column, Value elements, Value scales);
  void store(Value value, Value column);

  OpBuilder &builder;
  Location loc;
  LoopNest nest;
  SplitOp op;
  Value row, x, halves;
  int64_t k;
};
} // namespace

/// Elements of x from `column` on, zeros beyond K.
Value SplitRow::load(Value column, bool isMasked) {
  VectorType type = vectorOf(builder.getF32Type());
  SmallVector<Value> position{row, column};
  if (!isMasked)
    return vector::LoadOp::create(builder, loc, type, x, position);
  Value mask =
      vector::CreateMaskOp::create(builder, loc, vectorOf(builder.getI1Type()),
                                   ValueRange{nest.sub(nest.index(k), column)});
  return vector::MaskedLoadOp::create(builder, loc, type, x, position, mask,
                                      zero(builder.getF32Type()));
}

/// One i32 made of `element(column, elements)` of the whole row.
Value SplitRow::reduce(vector::CombiningKind kind,
                       function_ref<Value(Value, Value)> element) {
  int64_t whole = k / kLanes * kLanes;
  auto combine = [&](Value sum, Value column, bool isMasked) {
    return vector::makeArithReduction(
        builder, loc, kind, element(column, load(column, isMasked)), sum);
  };
  auto loop =
      scf::ForOp::create(builder, loc, nest.index(0), nest.index(whole),
                         nest.index(kLanes), zero(builder.getI32Type()));
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    Value sum = combine(loop.getRegionIterArg(0), loop.getInductionVar(),
                        /*isMasked=*/false);
    scf::YieldOp::create(builder, loc, sum);
  }
  Value sum = loop.getResult(0);
  if (whole != k)
    sum = combine(sum, nest.index(whole), /*isMasked=*/true);
  return vector::ReductionOp::create(builder, loc, kind, sum);
}

void SplitRow::store(Value value, Value column) {
  vector::StoreOp::create(builder, loc, value, halves, ValueRange{row, column});
}

/// Writes the parts of the elements from `column` of x on. Returns their
/// scores.
Value SplitRow::emitParts(Value column, Value elements, Value scales) {
  unsigned parts = op.getParts();
  SplitElement element =
      emitSplitElement(builder, loc, elements, scales, parts, k);
  if (parts == 1) {
    store(element.hi, column);
    return element.score;
  }
  // Before it are as many columns of lo as of hi in whole groups.
  Value target = nest.add(column, nest.floorTo(column, SplitOp::kPartColumns));
  store(element.hi, target);
  store(element.lo, nest.add(target, nest.index(SplitOp::kPartColumns)));
  return element.score;
}

void SplitRow::emit() {
  Value largest = reduce(vector::CombiningKind::MAXSI, [&](Value, Value v) {
    return emitMagnitudeBits(builder, loc, v);
  });
  SplitScale scale = emitSplitScale(builder, loc, largest);
  Value scales = vector::BroadcastOp::create(
      builder, loc, vectorOf(builder.getF32Type()), scale.scale);
  Value score = reduce(vector::CombiningKind::ADD, [&](Value column, Value v) {
    return emitParts(column, v, scales);
  });
  // What is left of the last group: the parts of zero.
  if (op.getParts() == 2)
    nest.loop(nest.index(llvm::alignTo<kLanes>(k)),
              nest.index(llvm::alignTo<SplitOp::kPartColumns>(k)), kLanes,
              [&](Value column) {
                emitParts(column, zero(builder.getF32Type()), scales);
              });
  Value isOutside =
      emitRowIsOutside(builder, loc, largest, score, op.getParts());
  Value factor = emitSplitFactor(builder, loc, scale.factor, isOutside);
  memref::StoreOp::create(builder, loc, factor, op.getFactors(),
                          ValueRange{row, nest.index(0)});
}

/// Whether it can be lowered; else an error says why not.
static bool isSupported(SplitOp op) {
  if (op.isOnTensors()) {
    op.emitOpError("cannot become loops: its operands must be buffers; "
                   "run --tenon-bufferize first");
    return false;
  }
  if (op.getTransposed()) {
    op.emitOpError("cannot become loops: x is a transposed buffer; run "
                   "--tenon-to-linalg before, which turns it as a tensor");
    return false;
  }
  for (Value buffer : {op.getX(), op.getHalves()})
    if (!cast<MemRefType>(buffer.getType()).isLastDimUnitStride()) {
      op.emitOpError("needs contiguous rows, but has ")
          << buffer.getType() << "; copy it to a buffer without a layout";
      return false;
    }
  return true;
}

static void lowerSplit(SplitOp op, OpBuilder &builder) {
  LoopNest nest{builder, op.getLoc()};
  int64_t k = cast<MemRefType>(op.getX().getType()).getDimSize(1);
  // Enough elements to be worth a thread.
  int64_t chunk = llvm::divideCeil(16384, k);
  Value rows = nest.dim(op.getX(), 0);
  nest.parallel(nest.ceilDiv(rows, chunk), [&](ValueRange index) {
    Value begin = nest.mul(index[0], chunk);
    Value end = nest.min(rows, nest.add(begin, nest.index(chunk)));
    nest.loop(begin, end, 1,
              [&](Value row) { SplitRow(builder, op, row).emit(); });
  });
}

namespace {
struct CPUSplitPass : tenon::impl::TenonCPUSplitBase<CPUSplitPass> {
  void runOnOperation() override {
    SmallVector<SplitOp> ops;
    getOperation()->walk([&](SplitOp op) { ops.push_back(op); });
    for (SplitOp op : ops) {
      if (!isSupported(op))
        return signalPassFailure();
      OpBuilder builder(op);
      lowerSplit(op, builder);
      op.erase();
    }
  }
};
} // namespace
