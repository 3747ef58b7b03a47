//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sums of x's rows and of their outer products, on the tensor cores' f64. Each
// block has a tile of 32x32, for which a group's rows pass through shared
// memory: the columns of the tile's rows, and beside them those of its columns.
//
//===----------------------------------------------------------------------===//

#include "GramKernel.h"

#include "Codegen/CUDA/Emit/ElementEmitter.h"
#include "Codegen/CUDA/Emit/KernelFunction.h"
#include "TileSums.h"

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
  static constexpr int64_t kTile = MomentsGeometry::kTile;
  static constexpr int64_t kRows = MomentsGeometry::kGramRows;
  static constexpr int64_t kWarps = MomentsGeometry::kGramWarps;
  static constexpr int64_t kThreads = 32 * kWarps;
  /// A thread has rows of one column, so far apart.
  static constexpr int64_t kColumns = 2 * kTile;
  static constexpr int64_t kApart = kThreads / kColumns;
  static constexpr int64_t kLoads = kRows / kApart;
  /// From a row to the next in shared memory, as MomentsGeometry::pitch() is.
  static constexpr int64_t kPitch = kColumns + 4;
  static constexpr unsigned kProducts = TileSums::kProducts;
  static constexpr unsigned kSums = TileSums::kSums;

  Type getLoadedType() {
    return b.getIntegerType(frame.g.elementType.getIntOrFloatBitWidth());
  }
  void findPlace();
  SmallVector<Value> loadFirst();
  Value emitStages(SmallVectorImpl<Value> &sums);
  Value countRows(Value stage);
  SmallVector<Value> loadRows(Value stage);
  Value storeRows(Value stage, ValueRange loaded);
  SmallVector<Value> loadFours(int64_t firstColumn);
  void multiplyRows(MutableArrayRef<Value> sums);
  void storeColumnSum(Value state);

  MomentsFrame &frame;
  KernelBuilder &b;
  Value shared, columnSums;
  Value group, tile, tileRow, tileColumn;          ///< of the block
  Value columnInTiles, column, isColumn, firstRow; ///< of the thread
  Value shift;                                     ///< of its column
};
} // namespace

void GramKernel::emit() {
  int64_t elements = std::max(kRows * kPitch, TileSums::kElements);
  shared = frame.allocateShared("_rows", elements);
  columnSums = frame.allocateShared("_sums", kThreads);
  findPlace();
  SmallVector<Value> sums(kSums, frame.real(0));
  Value columnSum = emitStages(sums);
  frame.store(columnSum, columnSums, frame.thread);
  TileSums ofTile(frame, shared);
  ofTile.addWarps(sums);
  Value state = b.offset(frame.pointers[1],
                         b.mul(b.toI64(group), 8 * frame.g.stateElements()));
  ofTile.store(b.offset(
      state, b.mul(b.toI64(tile), 8 * MomentsGeometry::kTileElements)));
  storeColumnSum(state);
  LLVM::ReturnOp::create(b, ValueRange());
}

void GramKernel::findPlace() {
  const MomentsGeometry &g = frame.g;
  group = b.div(frame.block, g.tiles());
  tile = b.rem(frame.block, g.tiles());
  std::tie(tileRow, tileColumn) = frame.locateTile(tile);
  columnInTiles = b.rem(frame.thread, kColumns);
  firstRow = b.div(frame.thread, kColumns);
  Value ofTile = b.select(b.less(columnInTiles, kTile), tileRow, tileColumn);
  column = b.add(b.mul(ofTile, kTile), b.rem(columnInTiles, kTile));
  isColumn = b.less(column, g.k);
  column = b.min(column, b.i32(g.k - 1));
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// The elements of the group's first stage, and the column's shift, unless x
/// has no rows.
SmallVector<Value> GramKernel::loadFirst() {
  auto branch = scf::IfOp::create(
      b, b.less(b.i64(0), frame.m),
      [&](OpBuilder &, Location) {
        SmallVector<Value> values = loadRows(b.toI64(group));
        values.push_back(frame.loadInput(frame.pointers[0], b.i64(0), column));
        scf::YieldOp::create(b, values);
      },
      [&](OpBuilder &, Location) {
        SmallVector<Value> values(
            kLoads,
            arith::ConstantOp::create(b, b.getIntegerAttr(getLoadedType(), 0)));
        values.push_back(frame.real(0));
        scf::YieldOp::create(b, values);
      });
  SmallVector<Value> loaded(branch.getResults());
  shift = loaded.pop_back_val();
  return loaded;
}

/// Adds to `sums` and returns the sum of the thread's elements. The next rows
/// are on their way while those before them are multiplied.
Value GramKernel::emitStages(SmallVectorImpl<Value> &sums) {
  Value stages = b.ceilDiv(frame.m, kRows);
  Value first = b.toI64(group);
  SmallVector<Value> initial(sums.begin(), sums.end());
  initial.push_back(frame.real(0));
  llvm::append_range(initial, loadFirst());
  auto loop = scf::ForOp::create(
      b, first, stages, frame.groups, initial,
      [&](OpBuilder &, Location, Value stage, ValueRange carried) {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToEnd(stage.getParentBlock());
        SmallVector<Value> next(carried.take_front(kSums));
        // The rows before have been read.
        NVVM::Barrier0Op::create(b);
        Value sum = storeRows(stage, carried.drop_front(kSums + 1));
        NVVM::Barrier0Op::create(b);
        Value following = b.add(stage, frame.groups);
        SmallVector<Value> loaded =
            loadRows(b.minSigned(following, b.sub(stages, 1)));
        multiplyRows(next);
        next.push_back(frame.add(carried[kSums], sum));
        llvm::append_range(next, loaded);
        scf::YieldOp::create(b, next);
      });
  sums.assign(loop.getResults().begin(), loop.getResults().begin() + kSums);
  return loop.getResult(kSums);
}

/// The stage's rows, as i32.
Value GramKernel::countRows(Value stage) {
  Value rows = b.minSigned(b.sub(frame.m, b.mul(stage, kRows)), b.i64(kRows));
  return arith::TruncIOp::create(b, b.getI32Type(), rows);
}

/// The thread's elements, as they are; rows beyond are the last. In PTX, since
/// LLVM would load them where they are needed.
SmallVector<Value> GramKernel::loadRows(Value stage) {
  const MomentsGeometry &g = frame.g;
  int64_t bytes = g.elementType.getIntOrFloatBitWidth() / 8;
  StringRef text =
      bytes == 2 ? "ld.global.b16 $0, [$1];" : "ld.global.b32 $0, [$1];";
  Value first = b.offset(frame.pointers[0], b.mul(stage, kRows * g.k * bytes));
  Value last = b.sub(countRows(stage), 1);
  SmallVector<Value> loaded;
  for (int64_t i = 0; i != kLoads; ++i) {
    Value row = b.min(b.add(firstRow, kApart * i), last);
    Value index = b.mul(b.toI64(b.add(b.mul(row, g.k), column)), bytes);
    loaded.push_back(b.ptxRead(getLoadedType(), text,
                               bytes == 2 ? "=h,l" : "=r,l",
                               b.offset(first, index)));
  }
  return loaded;
}

/// Stores what the elements are more than x's first row, zero beyond x, and
/// returns the sum.
Value GramKernel::storeRows(Value stage, ValueRange loaded) {
  Value rows = countRows(stage), sum;
  Value first = b.add(b.mul(firstRow, kPitch), columnInTiles);
  for (auto [i, element] : llvm::enumerate(loaded)) {
    int64_t row = kApart * int64_t(i);
    Value value = LLVM::BitcastOp::create(b, frame.g.elementType, element);
    value = frame.sub(castFloat(b, value, b.getF64Type()), shift);
    Value isInside = b.both(b.less(b.add(firstRow, row), rows), isColumn);
    value = b.select(isInside, value, frame.real(0));
    frame.store(value, shared, b.add(first, row * kPitch));
    sum = sum ? frame.add(sum, value) : value;
  }
  return sum;
}

/// A lane's elements of a tile's columns in the warp's rows: for each eight of
/// them those of each four rows.
SmallVector<Value> GramKernel::loadFours(int64_t firstColumn) {
  Value first = b.add(b.mul(frame.warp, kRows / kWarps), frame.laneColumn);
  first = b.add(b.mul(first, kPitch), frame.laneRow);
  SmallVector<Value> elements;
  for (int64_t i = 0; i != kProducts; ++i)
    for (int64_t four = 0; four != MomentsFrame::kFours; ++four)
      elements.push_back(frame.load(
          shared, b.add(first, 4 * four * kPitch + firstColumn + 8 * i)));
  return elements;
}

void GramKernel::multiplyRows(MutableArrayRef<Value> sums) {
  constexpr unsigned kFours = MomentsFrame::kFours;
  static_assert(kRows == 4 * kFours * kWarps);
  SmallVector<Value> as = loadFours(0), xs = loadFours(kTile);
  for (unsigned i = 0; i != kProducts; i += 2) {
    SmallVector<Value> ofRows;
    for (unsigned four = 0; four != kFours; ++four)
      for (unsigned half = 0; half != 2; ++half)
        ofRows.push_back(as[(i + half) * kFours + four]);
    for (unsigned j = 0; j != kProducts; ++j)
      frame.multiply(sums.slice(2 * (i * kProducts + j), 2),
                     sums.slice(2 * ((i + 1) * kProducts + j), 2), ofRows,
                     ArrayRef(xs).slice(j * kFours, kFours));
  }
}

/// The blocks of tiles on the diagonal have S1.
void GramKernel::storeColumnSum(Value state) {
  Value isOwn =
      b.both(b.equal(tileRow, tileColumn), b.less(frame.thread, kTile));
  emitIf(b, isOwn, [&] {
    Value sum = frame.load(columnSums, frame.thread);
    for (int64_t i = 1; i != kApart; ++i)
      sum = frame.add(
          sum, frame.load(columnSums, b.add(frame.thread, i * kColumns)));
    int64_t before = frame.g.tiles() * MomentsGeometry::kTileElements;
    Value place = b.add(b.mul(tileRow, kTile), frame.thread);
    frame.store(sum, state, b.add(place, before));
  });
}

LLVM::LLVMFuncOp tenon::emitGramKernel(gpu::GPUModuleOp module, StringRef name,
                                       Location loc,
                                       const MomentsGeometry &geometry) {
  MomentsFrame frame(module, name, loc, geometry, /*numPointers=*/2,
                     32 * MomentsGeometry::kGramWarps);
  GramKernel(frame).emit();
  return frame.function;
}
