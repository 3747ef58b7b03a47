//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sums of x's rows and of their outer products, on the tensor cores' f64. Each
// warp has a tile of 32x32 of the groups' rows, which pass through shared
// memory.
//
//===----------------------------------------------------------------------===//

#include "InputMoments.h"

#include "../KernelFunction.h"
#include "MomentsFrame.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::tenon;

namespace {
class GramKernel {
public:
  explicit GramKernel(MomentsFrame &frame) : frame(frame), b(frame.b) {}

  void emit();

private:
  /// A tile's products of 8x8, along a side.
  static constexpr unsigned kProducts = MomentsGeometry::kTile / 8;
  static constexpr unsigned kSums = 2 * kProducts * kProducts;

  void emitStage(Value stage, SmallVectorImpl<Value> &sums);
  void multiplyRows(MutableArrayRef<Value> sums);
  SmallVector<Value> loadColumns(Value row, Value tile);
  void storeState(ValueRange sums);

  MomentsFrame &frame;
  KernelBuilder &b;
  Value shared;
  Value group, tileGroup;    ///< of the block
  Value tile;                ///< of the warp; may be beyond the last
  Value tileRow, tileColumn; ///< never beyond
  Value column;              ///< whose sum the thread has; never beyond
};
} // namespace

void GramKernel::emit() {
  const MomentsGeometry &g = frame.g;
  shared = frame.allocateShared("_rows", g.rows() * g.pitch());
  group = b.div(frame.block, g.tileGroups());
  tileGroup = b.rem(frame.block, g.tileGroups());
  tile = b.add(b.mul(tileGroup, g.gramWarps()), frame.warp);
  std::tie(tileRow, tileColumn) =
      frame.locateTile(b.min(tile, b.i32(g.tiles() - 1)));
  column = b.min(frame.thread, b.i32(g.columns() - 1));
  // The last sum is that of the column.
  SmallVector<Value> zeros(kSums + 1, frame.real(0));
  Value stages = b.ceilDiv(frame.m, g.rows());
  auto loop = scf::ForOp::create(
      b, b.toI64(group), stages, frame.groups, zeros,
      [&](OpBuilder &, Location, Value stage, ValueRange carried) {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToEnd(stage.getParentBlock());
        SmallVector<Value> sums(carried);
        emitStage(stage, sums);
        scf::YieldOp::create(b, sums);
      });
  storeState(loop.getResults());
  LLVM::ReturnOp::create(b, ValueRange());
}

void GramKernel::emitStage(Value stage, SmallVectorImpl<Value> &sums) {
  const MomentsGeometry &g = frame.g;
  Value x = frame.pointers[0];
  // The rows before have been read.
  NVVM::Barrier0Op::create(b);
  frame.stageRows(shared, x, b.mul(stage, g.rows()), frame.m, /*shift=*/x);
  NVVM::Barrier0Op::create(b);
  multiplyRows(MutableArrayRef(sums).drop_back());
  for (int64_t row = 0; row != g.rows(); ++row)
    sums.back() = frame.add(sums.back(),
                            frame.load(shared, b.add(column, row * g.pitch())));
}

/// A lane's elements of the columns of a tile, in its row of four.
SmallVector<Value> GramKernel::loadColumns(Value row, Value tile) {
  Value first =
      b.add(b.add(row, b.mul(tile, MomentsGeometry::kTile)), frame.laneRow);
  SmallVector<Value> elements;
  for (unsigned i = 0; i != kProducts; ++i)
    elements.push_back(frame.load(shared, b.add(first, 8 * i)));
  return elements;
}

void GramKernel::multiplyRows(MutableArrayRef<Value> sums) {
  for (int64_t four = 0; four != frame.g.rows(); four += 4) {
    Value row = b.mul(b.add(frame.laneColumn, four), frame.g.pitch());
    SmallVector<Value> as = loadColumns(row, tileRow),
                       xs = loadColumns(row, tileColumn);
    for (unsigned i = 0; i != kProducts; ++i)
      for (unsigned j = 0; j != kProducts; ++j)
        frame.multiply(sums.slice(2 * (i * kProducts + j), 2), as[i], xs[j]);
  }
}

void GramKernel::storeState(ValueRange sums) {
  const MomentsGeometry &g = frame.g;
  Value state =
      b.offset(frame.pointers[1], b.mul(b.toI64(group), 8 * g.stateElements()));
  emitIf(b, b.less(tile, g.tiles()), [&] {
    Value first = b.add(b.mul(tile, MomentsGeometry::kTileElements),
                        b.add(b.mul(frame.laneRow, MomentsGeometry::kTile),
                              b.mul(frame.laneColumn, 2)));
    for (auto [index, sum] : llvm::enumerate(sums.drop_back())) {
      int64_t product = int64_t(index) / 2, i = product / kProducts,
              j = product % kProducts;
      frame.store(sum, state,
                  b.add(first, 8 * i * MomentsGeometry::kTile + 8 * j +
                                   int64_t(index) % 2));
    }
  });
  Value ownsColumn =
      b.both(b.equal(tileGroup, 0), b.less(frame.thread, g.columns()));
  emitIf(b, ownsColumn, [&] {
    frame.store(sums.back(), state,
                b.add(column, g.tiles() * MomentsGeometry::kTileElements));
  });
}

LLVM::LLVMFuncOp tenon::emitGramKernel(gpu::GPUModuleOp module, StringRef name,
                                       Location loc,
                                       const MomentsGeometry &geometry) {
  MomentsFrame frame(module, name, loc, geometry, /*numPointers=*/2,
                     32 * geometry.gramWarps());
  GramKernel(frame).emit();
  return frame.function;
}
