//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The moments of each column of the product: w_j S2 w_j^T, w_j . S1 and w_j .
// s. A block has some of w's rows in shared memory; its warps take turns at the
// tiles of S2.
//
//===----------------------------------------------------------------------===//

#include "ColumnMomentsKernel.h"

#include "Codegen/CUDA/Emit/KernelFunction.h"
#include "Codegen/CUDA/Emit/OverlapKernels.h"
#include "MomentsFrame.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::tenon;

namespace {
class ColumnMomentsKernel {
public:
  explicit ColumnMomentsKernel(MomentsFrame &frame) : frame(frame), b(frame.b) {
    ValueRange pointers = frame.pointers;
    x = pointers[0], w = pointers[1], state = pointers[2];
    outputs = pointers.drop_front(3);
  }

  void emit();

private:
  static constexpr int64_t kTile = MomentsGeometry::kTile;
  static constexpr int64_t kWarps = MomentsGeometry::kColumnWarps;
  static constexpr int64_t kFours = MomentsFrame::kFours;

  /// Eights of w's rows.
  unsigned eights() const { return frame.g.rows() / 8; }
  void emitTiles();
  void addTile(Value tile, MutableArrayRef<Value> sums);
  SmallVector<Value> multiplyTile(Value tile, Value tileRow);
  void emitDots();
  Value loadVectors(Value k);
  SmallVector<Value> loadW(unsigned eight, Value column);
  void finish();

  MomentsFrame &frame;
  KernelBuilder &b;
  Value x, w, state;
  ValueRange outputs;
  Value rows;     ///< of w, in shared memory
  Value partials; ///< of w S2 w^T, [warps * 4, rows]
  Value dots;     ///< with S1, then with s, [2, rows]
};
} // namespace

void ColumnMomentsKernel::emit() {
  const MomentsGeometry &g = frame.g;
  rows = frame.allocateShared("_rows", g.rows() * g.pitch());
  partials = frame.allocateShared("_partials", 4 * kWarps * g.rows());
  dots = frame.allocateShared("_dots", 2 * g.rows());
  Value first = b.toI64(b.mul(frame.block, g.rows()));
  frame.stageRows(rows, w, first, b.i64(g.n));
  auto barrier = NVVM::Barrier0Op::create(b);
  // w is not what states are added to.
  barrier->setAttr(kWaitsHereAttr, b.getUnitAttr());
  emitTiles();
  // The last warp has the fewest tiles.
  emitIf(b, b.equal(frame.warp, kWarps - 1), [&] { emitDots(); });
  NVVM::Barrier0Op::create(b);
  emitIf(b, b.less(frame.thread, g.rows()), [&] { finish(); });
  LLVM::ReturnOp::create(b, ValueRange());
}

/// A lane's elements, as MomentsFrame::multiply takes them, of 16 rows from
/// eight number `eight` on, in the columns from `column` (the lane's own) on.
SmallVector<Value> ColumnMomentsKernel::loadW(unsigned eight, Value column) {
  SmallVector<Value> elements;
  for (int64_t four = 0; four != kFours; ++four)
    for (int64_t half = 0; half != 2; ++half) {
      Value row = b.add(frame.laneRow, 8 * (eight + half));
      Value place = b.add(b.mul(row, frame.g.pitch()), column);
      elements.push_back(frame.load(rows, b.add(place, 4 * four)));
    }
  return elements;
}

//===----------------------------------------------------------------------===//
// w S2 w^T
//===----------------------------------------------------------------------===//

void ColumnMomentsKernel::emitTiles() {
  SmallVector<Value> zeros(eights(), frame.real(0));
  auto loop = scf::ForOp::create(
      b, frame.warp, b.i32(frame.g.tiles()), b.i32(kWarps), zeros,
      [&](OpBuilder &, Location, Value tile, ValueRange carried) {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToEnd(tile.getParentBlock());
        SmallVector<Value> sums(carried);
        addTile(tile, sums);
        scf::YieldOp::create(b, sums);
      });
  Value part = b.add(b.mul(frame.warp, 4), frame.laneColumn);
  Value first = b.add(b.mul(part, frame.g.rows()), frame.laneRow);
  for (auto [eight, sum] : llvm::enumerate(loop.getResults()))
    frame.store(sum, partials, b.add(first, 8 * int64_t(eight)));
}

/// Adds what a tile and, but on the diagonal, its transpose give.
void ColumnMomentsKernel::addTile(Value tile, MutableArrayRef<Value> sums) {
  auto [tileRow, tileColumn] = frame.locateTile(tile);
  SmallVector<Value> products = multiplyTile(tile, tileRow);
  Value times =
      b.select(b.equal(tileRow, tileColumn), frame.real(1), frame.real(2));
  Value column = b.add(b.mul(tileColumn, kTile), b.mul(frame.laneColumn, 2));
  for (unsigned eight = 0; eight != eights(); ++eight) {
    Value row = b.mul(b.add(frame.laneRow, 8 * eight), frame.g.pitch());
    Value sum;
    for (int64_t j = 0; j != kTile / 8; ++j) {
      auto [even, odd] = frame.loadTwo(rows, b.add(b.add(row, column), 8 * j));
      Value *two = &products[2 * (eight * (kTile / 8) + j)];
      Value both = frame.add(frame.mul(two[0], even), frame.mul(two[1], odd));
      sum = sum ? frame.add(sum, both) : both;
    }
    sums[eight] = frame.add(sums[eight], frame.mul(times, sum));
  }
}

/// w's rows, in the columns of the tile's rows, times the tile.
SmallVector<Value> ColumnMomentsKernel::multiplyTile(Value tile,
                                                     Value tileRow) {
  constexpr int64_t kProducts = kTile / 8;
  SmallVector<Value> sums(2 * eights() * kProducts, frame.real(0));
  Value first = b.add(b.mul(tile, MomentsGeometry::kTileElements),
                      b.add(b.mul(frame.laneColumn, kTile), frame.laneRow));
  Value column = b.add(b.mul(tileRow, kTile), frame.laneColumn);
  for (int64_t k = 0; k != kTile; k += 4 * kFours) {
    SmallVector<Value> ofTile;
    for (int64_t j = 0; j != kProducts; ++j)
      for (int64_t four = 0; four != kFours; ++four)
        ofTile.push_back(
            frame.load(state, b.add(first, (k + 4 * four) * kTile + 8 * j)));
    for (unsigned eight = 0; eight != eights(); eight += 2) {
      SmallVector<Value> as = loadW(eight, b.add(column, k));
      for (int64_t j = 0; j != kProducts; ++j) {
        auto sumsOf = [&](unsigned of) {
          return MutableArrayRef(sums).slice(2 * (of * kProducts + j), 2);
        };
        frame.multiply(sumsOf(eight), sumsOf(eight + 1), as,
                       ArrayRef(ofTile).slice(j * kFours, kFours));
      }
    }
  }
  return sums;
}

//===----------------------------------------------------------------------===//
// w S1 and w s
//===----------------------------------------------------------------------===//

/// Row `k` of a matrix whose columns are S1, s and six of zeros: the lane's.
Value ColumnMomentsKernel::loadVectors(Value k) {
  Value sum = frame.load(
      state, b.add(k, frame.g.tiles() * MomentsGeometry::kTileElements));
  // An x without rows has no first one.
  Value isEmpty = b.equal(frame.m, 0);
  Value shift = frame.loadInput(b.select(isEmpty, state, x), b.i64(0),
                                b.min(k, b.i32(frame.g.k - 1)));
  Value has = b.both(b.equal(frame.laneRow, 1), b.less(b.i64(0), frame.m));
  Value first = b.select(has, shift, frame.real(0));
  return b.select(b.equal(frame.laneRow, 0), sum, first);
}

void ColumnMomentsKernel::emitDots() {
  SmallVector<Value> sums(2 * eights(), frame.real(0));
  for (int64_t first = 0; first != frame.g.columns(); first += 4 * kFours) {
    Value k = b.add(frame.laneColumn, first);
    SmallVector<Value> vectors;
    for (int64_t four = 0; four != kFours; ++four)
      vectors.push_back(loadVectors(b.add(k, 4 * four)));
    for (unsigned eight = 0; eight != eights(); eight += 2)
      frame.multiply(MutableArrayRef(sums).slice(2 * eight, 2),
                     MutableArrayRef(sums).slice(2 * eight + 2, 2),
                     loadW(eight, k), vectors);
  }
  emitIf(b, b.equal(frame.laneColumn, 0), [&] {
    for (unsigned eight = 0; eight != eights(); ++eight)
      for (unsigned i = 0; i != 2; ++i)
        frame.store(sums[2 * eight + i], dots,
                    b.add(frame.laneRow, 8 * eight + i * frame.g.rows()));
  });
}

/// Each of the first threads has a row of w, a column of the product.
void ColumnMomentsKernel::finish() {
  int64_t numRows = frame.g.rows();
  Value square = frame.load(partials, frame.thread);
  for (int64_t part = 1; part != 4 * kWarps; ++part)
    square = frame.add(
        square, frame.load(partials, b.add(frame.thread, part * numRows)));
  Value sum = frame.load(dots, frame.thread);
  Value shift = frame.load(dots, b.add(frame.thread, numRows));
  Value count = frame.toReal(frame.m);
  // Of no rows sums are 0, and so is what they give.
  Value divisor =
      b.select(b.equal(frame.m, 0), frame.real(1), frame.toReal(frame.m));
  Value mean = frame.div(sum, divisor);
  Value m2 = frame.sub(square, frame.mul(sum, mean));
  Value isNegative =
      arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, frame.real(0), m2);
  m2 = b.select(isNegative, frame.real(0), m2);
  Value results[] = {frame.add(shift, mean), frame.div(m2, divisor),
                     frame.div(m2, frame.sub(count, frame.real(1)))};
  Value column = b.add(b.mul(frame.block, numRows), frame.thread);
  emitIf(b, b.less(column, frame.g.n), [&] {
    for (auto [result, output] : llvm::zip(results, outputs))
      LLVM::StoreOp::create(
          b, arith::TruncFOp::create(b, b.getF32Type(), result),
          b.offset(output, b.toI64(b.mul(column, 4))), /*alignment=*/4);
  });
}

LLVM::LLVMFuncOp
tenon::emitColumnMomentsKernel(gpu::GPUModuleOp module, StringRef name,
                               Location loc, const MomentsGeometry &geometry) {
  MomentsFrame frame(module, name, loc, geometry, /*numPointers=*/6,
                     32 * MomentsGeometry::kColumnWarps);
  ColumnMomentsKernel(frame).emit();
  return frame.function;
}
