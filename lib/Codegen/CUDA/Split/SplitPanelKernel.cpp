//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Splits the columns of x. A block goes through its panel twice: for the
// largest magnitude of each column, and to split the elements, which turn from
// columns to rows in shared memory, tile by tile. The second time goes
// backwards: what was read last is the likeliest to be in L2 still.
//
//===----------------------------------------------------------------------===//

#include "SplitPanelKernel.h"

#include "SplitFactor.h"

#include "Codegen/CUDA/Emit/KernelFunction.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::tenon;

namespace {
class SplitPanelKernel {
public:
  SplitPanelKernel(gpu::GPUModuleOp module, StringRef name, Location loc,
                   const SplitPanelGeometry &geometry);

  LLVM::LLVMFuncOp emit();

private:
  using G = SplitPanelGeometry;

  SmallVector<Value> loadTile(Value tile);
  Value emitLargest();
  SmallVector<Value> emitTiles(Value scale);
  SmallVector<Value> emitTile(Value tile, Value scale, ValueRange scores);
  void turn(ArrayRef<Value> xs);
  Value loadStep(unsigned step);
  void store(Value tile, unsigned step, const SplitElement &element);
  Value emitTotals(ArrayRef<Value> scores);

  /// The row of the result that a lane stores in a step, of the panel's.
  Value getStepRow(unsigned step) {
    return b.add(b.div(lane, g.lanesPerRow()),
                 step * g.rowsPerStep() % g.width);
  }
  /// Which 32 elements of the tile's row it takes part in.
  int64_t getStepGroup(unsigned step) {
    return step * g.rowsPerStep() / g.width * 32;
  }
  /// The lane's first one of them.
  Value getStepElement() {
    return b.mul(b.rem(lane, g.lanesPerRow()), g.lanes);
  }
  Type getLanes(Type scalar) {
    return g.lanes == 1 ? scalar : VectorType::get(g.lanes, scalar);
  }
  /// Where a warp's values of the panel's columns stand.
  Value getPlace(LLVM::GlobalOp array, Value warp, Value column) {
    Value index = b.add(b.mul(warp, g.width), column);
    return b.offset(LLVM::AddressOfOp::create(b, array), b.mul(index, 4));
  }
  Value combine(LLVM::GlobalOp array,
                llvm::function_ref<Value(Value, Value)> function);

  KernelBuilder b;
  const G &g;
  LLVM::LLVMFuncOp function;
  LLVM::GlobalOp counter, tiles, maxima, totals; ///< all but the first, shared
  Value x, halves, factors;                      ///< the kernel's arguments
  Value warp, lane;
  Value panel;      ///< the first of its columns (i64)
  Value laneColumn; ///< the lane's as it loads, of the panel's
  Value column;     ///< the same of x's (i64); within M
  Value tile;       ///< the warp's, in shared memory
};
} // namespace

SplitPanelKernel::SplitPanelKernel(gpu::GPUModuleOp module, StringRef name,
                                   Location loc,
                                   const SplitPanelGeometry &geometry)
    : b(loc, module.getContext()), g(geometry) {
  function = createKernelFunction(b, module, name, /*numTensorMaps=*/0,
                                  /*numPointers=*/3, g.threads());
  counter = getRowsOutsideCounter(b, module);
  tiles = createSharedArray(b, function, "_tiles", b.getF32Type(),
                            G::kWarps * g.tileRows() * g.tileStride());
  maxima = createSharedArray(b, function, "_maxima", b.getI32Type(),
                             G::kWarps * g.width);
  totals = createSharedArray(b, function, "_totals", b.getI32Type(),
                             G::kWarps * g.width);
}

LLVM::LLVMFuncOp SplitPanelKernel::emit() {
  ValueRange arguments = function.getArguments();
  x = arguments[0], halves = arguments[1], factors = arguments[2];
  Value thread = NVVM::ThreadIdXOp::create(b, b.getI32Type());
  warp = b.shiftRight(thread, 5), lane = b.bitAnd(thread, 31);
  Value block = NVVM::BlockIdXOp::create(b, b.getI32Type());
  panel = b.mul(b.toI64(block), g.width);
  laneColumn = b.rem(lane, g.width);
  Value own = b.add(panel, b.toI64(laneColumn));
  column = g.m % g.width == 0 ? own : b.min(own, b.i64(g.m - 1));
  tile = b.offset(LLVM::AddressOfOp::create(b, tiles),
                  b.mul(warp, 4 * g.tileRows() * g.tileStride()));

  Value largest = emitLargest();
  SplitScale scale = emitSplitScale(b, b.getLoc(), largest);
  Value total = emitTotals(emitTiles(scale.scale));
  Value isOwn = b.both(b.less(thread, g.width), b.less(own, g.m));
  emitIf(b, isOwn, [&] {
    emitSplitFactor(b, counter, factors, own, scale, largest, total, g.parts);
  });
  LLVM::ReturnOp::create(b, ValueRange());
  return function;
}

/// The lane's column of a tile; beyond K, zeros.
SmallVector<Value> SplitPanelKernel::loadTile(Value tile) {
  Value first = b.add(b.mul(tile, g.tileRows()), b.div(lane, g.width));
  Value element = b.add(b.mul(b.toI64(first), g.m), column);
  Value address = b.offset(x, b.mul(element, 4));
  Value left = b.sub(b.i32(g.k), first);
  SmallVector<Value> xs;
  for (int64_t i = 0; i != g.tileRows(); i += g.rowsPerLoad()) {
    Value own = b.offset(address, 4 * i * g.m);
    if (g.k % g.tileRows() == 0)
      xs.push_back(LLVM::LoadOp::create(b, b.getF32Type(), own, 4));
    else
      xs.push_back(b.ptxRead(b.getF32Type(),
                             "{ .reg .pred p; setp.gt.s32 p, $2, " +
                                 std::to_string(i) +
                                 "; mov.b32 $0, 0; @p ld.global.f32 $0, "
                                 "[$1]; }",
                             "=&f,l,r", {own, left}));
  }
  return xs;
}

/// What all warps have found for the lane's column, as one.
Value SplitPanelKernel::combine(
    LLVM::GlobalOp array, llvm::function_ref<Value(Value, Value)> function) {
  Value all;
  for (int64_t other = 0; other != G::kWarps; ++other) {
    Value value = LLVM::LoadOp::create(
        b, b.getI32Type(), getPlace(array, b.i32(other), laneColumn), 4);
    all = all ? function(all, value) : value;
  }
  return all;
}

/// The bits of the largest magnitude in the lane's column.
Value SplitPanelKernel::emitLargest() {
  auto loop = scf::ForOp::create(
      b, warp, b.i32(g.tiles()), b.i32(G::kWarps), b.i32(0),
      [&](OpBuilder &, Location, Value tile, ValueRange carried) {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToEnd(tile.getParentBlock());
        Value largest = carried[0];
        for (Value x : loadTile(tile))
          largest = b.maxSigned(largest, emitMagnitudeBits(b, b.getLoc(), x));
        scf::YieldOp::create(b, largest);
      });
  Value largest = loop.getResult(0);
  for (int64_t mask = g.width; mask != 32; mask *= 2)
    largest = b.maxSigned(largest, b.shuffleXor(largest, mask));
  // Lanes of one column store the same.
  LLVM::StoreOp::create(b, largest, getPlace(maxima, warp, laneColumn), 4);
  NVVM::Barrier0Op::create(b);
  return combine(maxima, [&](Value a, Value x) { return b.maxSigned(a, x); });
}

/// Writes a tile to shared memory, row by row.
void SplitPanelKernel::turn(ArrayRef<Value> xs) {
  NVVM::SyncWarpOp::create(b, b.i32(-1)); // the tile before has been read
  Value own = b.add(b.mul(b.div(lane, g.width), g.tileStride()), laneColumn);
  Value place = b.offset(tile, b.mul(own, 4));
  for (auto [i, x] : llvm::enumerate(xs))
    LLVM::StoreOp::create(
        b, x, b.offset(place, 4 * i * g.rowsPerLoad() * g.tileStride()), 4);
  NVVM::SyncWarpOp::create(b, b.i32(-1));
}

/// The elements of a step, which are neighbours along K.
Value SplitPanelKernel::loadStep(unsigned step) {
  Value element = b.add(getStepElement(), getStepGroup(step));
  Value place = b.add(b.mul(element, g.tileStride()), getStepRow(step));
  Value address = b.offset(tile, b.mul(place, 4));
  SmallVector<Value> xs;
  for (unsigned i = 0; i != g.lanes; ++i)
    xs.push_back(LLVM::LoadOp::create(
        b, b.getF32Type(), b.offset(address, 4 * i * g.tileStride()), 4));
  if (g.lanes == 1)
    return xs[0];
  return vector::FromElementsOp::create(
      b, cast<VectorType>(getLanes(b.getF32Type())), xs);
}

void SplitPanelKernel::store(Value tile, unsigned step,
                             const SplitElement &element) {
  Value row = b.add(panel, b.toI64(getStepRow(step)));
  // With two parts, 32 columns become twice as many.
  Value group = b.add(b.mul(tile, g.tileRows()), getStepGroup(step));
  Value half = b.add(b.mul(group, g.parts), getStepElement());
  Value address = b.offset(halves, b.mul(row, 2 * g.parts * g.columns()));
  address = b.offset(address, b.toI64(b.mul(half, 2)));
  auto emitStores = [&] {
    LLVM::StoreOp::create(b, element.hi, address, /*alignment=*/2 * g.lanes);
    if (element.lo)
      LLVM::StoreOp::create(b, element.lo,
                            b.offset(address, 2 * SplitOp::kPartColumns),
                            /*alignment=*/2 * g.lanes);
  };
  Value isInside;
  if (g.m % g.width != 0)
    isInside = b.less(row, g.m);
  if (g.columns() % g.tileRows() != 0) {
    Value isInRow = b.less(b.add(group, getStepElement()), g.columns());
    isInside = isInside ? b.both(isInside, isInRow) : isInRow;
  }
  if (!isInside)
    return emitStores();
  emitIf(b, isInside, emitStores);
}

/// Splits and stores a tile; adds to the scores of the rows.
SmallVector<Value> SplitPanelKernel::emitTile(Value tile, Value scale,
                                              ValueRange scores) {
  turn(loadTile(tile));
  SmallVector<Value> sums(scores);
  for (unsigned step = 0; step != g.steps(); ++step) {
    Value factor = b.shuffleFrom(scale, getStepRow(step));
    if (g.lanes != 1)
      factor = vector::BroadcastOp::create(b, getLanes(b.getF32Type()), factor);
    SplitElement element =
        emitSplitElement(b, b.getLoc(), loadStep(step), factor, g.parts, g.k);
    store(tile, step, element);
    Value sum = element.score;
    if (g.lanes != 1)
      sum = vector::ReductionOp::create(b, vector::CombiningKind::ADD, sum);
    Value &total = sums[step % scores.size()];
    total = b.add(total, sum);
  }
  return sums;
}

SmallVector<Value> SplitPanelKernel::emitTiles(Value scale) {
  SmallVector<Value> zeros(g.width / g.rowsPerStep(), b.i32(0));
  auto loop = scf::ForOp::create(
      b, warp, b.i32(g.tiles()), b.i32(G::kWarps), zeros,
      [&](OpBuilder &, Location, Value turn, ValueRange scores) {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToEnd(turn.getParentBlock());
        Value tile = b.sub(b.i32(g.tiles() - 1), turn);
        scf::YieldOp::create(b, emitTile(tile, scale, scores));
      });
  return llvm::to_vector_of<Value>(loop.getResults());
}

/// The sum of the scores of the lane's column.
Value SplitPanelKernel::emitTotals(ArrayRef<Value> scores) {
  SmallVector<Value> sums;
  for (Value score : scores) {
    for (unsigned mask = g.lanesPerRow() / 2; mask != 0; mask /= 2)
      score = b.add(score, b.shuffleXor(score, mask));
    sums.push_back(score);
  }
  emitIf(b, b.equal(getStepElement(), 0), [&] {
    for (auto [step, sum] : llvm::enumerate(sums))
      LLVM::StoreOp::create(b, sum, getPlace(totals, warp, getStepRow(step)),
                            4);
  });
  NVVM::Barrier0Op::create(b);
  return combine(totals, [&](Value a, Value x) { return b.add(a, x); });
}

LLVM::LLVMFuncOp
tenon::emitSplitPanelKernel(gpu::GPUModuleOp module, StringRef name,
                            Location loc, const SplitPanelGeometry &geometry) {
  return SplitPanelKernel(module, name, loc, geometry).emit();
}
