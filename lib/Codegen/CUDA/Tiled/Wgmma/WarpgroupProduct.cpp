//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits wgmma, and the waits for it.
//
//===----------------------------------------------------------------------===//

#include "WarpgroupProduct.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::tenon;

/// Rows of one wgmma, and bytes of K.
static constexpr int64_t kRows = 64, kStepBytes = 32;

/// A step of K of what wgmma takes as rows, x unless operands are swapped, and
/// the one of the other that it is multiplied with.
using Step = std::pair<int64_t, int64_t>;

/// The products of a stage's four steps. Rows of elements in parts have the
/// first parts in the first steps.
static SmallVector<Step> getSteps(const TileGeometry &geometry) {
  MethodTraits method = geometry.schedule.getMethodTraits();
  int64_t perPart = 4 / method.getNumParts();
  SmallVector<Step> steps;
  for (auto [partOfX, partOfW] : method.products)
    for (int64_t step : llvm::seq(perPart))
      steps.push_back({partOfX * perPart + step, partOfW * perPart + step});
  return steps;
}

/// Whether what wgmma takes as rows, or as columns, lies along them.
static bool turnsRows(const TileGeometry &geometry) {
  return geometry.isSwapped() ? geometry.turnsW : geometry.turnsX;
}
static bool turnsColumns(const TileGeometry &geometry) {
  return geometry.isSwapped() ? geometry.turnsX : geometry.turnsW;
}

/// Bytes from a step of K to the next: 32 of each row, or as many rows as it
/// has elements.
static int64_t getStepBytes(const TileGeometry &geometry, bool isTurned) {
  return isTurned ? kStepBytes / geometry.elementBytes * geometry.rowBytes
                  : kStepBytes;
}

namespace {
/// Writes PTX of a stage's products, once. Its operands are the accumulators as
/// results, then as they were, unless nothing was in them, then the two
/// descriptors.
class ProductsText {
public:
  ProductsText(const TileGeometry &geometry, bool begins);

  std::string get(int64_t groups);

private:
  void multiply(ArrayRef<Step> steps);
  void multiply(Step step);

  const TileGeometry &geometry;
  bool begins;
  std::string text, instruction;
  llvm::raw_string_ostream stream{text};
};
} // namespace

ProductsText::ProductsText(const TileGeometry &geometry, bool begins)
    : geometry(geometry), begins(begins) {
  StringRef type = llvm::TypeSwitch<Type, StringRef>(geometry.elementType)
                       .Case([](Float16Type) { return "f16"; })
                       .Case([](BFloat16Type) { return "bf16"; })
                       .Case([](Float8E4M3FNType) { return "e4m3"; })
                       .Case([](Float8E5M2Type) { return "e5m2"; })
                       .Default([](Type) { return "tf32"; });
  instruction = llvm::formatv(
      "wgmma.mma_async.sync.aligned.m{0}n{1}k{2}.f32.{3}.{3}", kRows,
      geometry.wgmmaColumns(), kStepBytes / geometry.elementBytes, type);
  int64_t count = geometry.productBlocks() * geometry.wgmmaColumns() / 2;
  int64_t first = begins ? count : 2 * count;
  stream << "{\n.reg .pred adds;\n.reg .b64 rows, columns, ofRows, ofColumns;\n"
         << "mov.b64 rows, $" << first << ";\nmov.b64 columns, $" << first + 1
         << ";\nsetp.ne.b32 adds, " << (begins ? 0 : 1) << ", 0;\n";
}

/// Rows of a stage from a warpgroup's first block of wgmma's rows to another:
/// with swapped operands those of each weight come one after the other.
static int64_t getRowsTo(const TileGeometry &geometry, int64_t block) {
  int64_t weight = block / geometry.wgmmaBlocks();
  return weight * geometry.tileN + block % geometry.wgmmaBlocks() * kRows;
}

/// The products of a step, of all blocks.
void ProductsText::multiply(Step step) {
  int64_t perBlock = geometry.wgmmaColumns() / 2;
  bool rowsTurn = turnsRows(geometry), columnsTurn = turnsColumns(geometry);
  // Elements of 16 bits may lie transposed.
  std::string end = geometry.elementBytes == 2
                        ? llvm::formatv(", {0}, {1};\n", rowsTurn ? 1 : 0,
                                        columnsTurn ? 1 : 0)
                              .str()
                        : ";\n";
  int64_t ofColumns = step.second * getStepBytes(geometry, columnsTurn);
  for (int64_t i = 0; i != geometry.productBlocks(); ++i) {
    int64_t ofRows = step.first * getStepBytes(geometry, rowsTurn) +
                     getRowsTo(geometry, i) * geometry.rowBytes;
    stream << "add.s64 ofRows, rows, " << ofRows / 16
           << ";\nadd.s64 ofColumns, columns, " << ofColumns / 16 << ";\n"
           << instruction << " {";
    llvm::interleaveComma(llvm::seq(i * perBlock, (i + 1) * perBlock), stream,
                          [&](int64_t number) { stream << '$' << number; });
    stream << "}, ofRows, ofColumns, adds, 1, 1" << end;
  }
}

/// A group of products.
void ProductsText::multiply(ArrayRef<Step> steps) {
  for (Step step : steps) {
    multiply(step);
    if (std::exchange(begins, false))
      stream << "setp.ne.b32 adds, 1, 0;\n";
  }
  stream << "wgmma.commit_group.sync.aligned;\n";
}

/// All products, as a loop of `groups` groups, or one group. The registers of a
/// loop need a fence of their own, and the group an end in their block: ptxas
/// would add a fence, or a product of nothing. It ends at a multiple of the
/// stage's bytes in a row: where ptxas can count, it unrolls some such loops.
std::string ProductsText::get(int64_t groups) {
  SmallVector<Step> steps = getSteps(geometry);
  int64_t ofGroup = steps.size() / groups;
  if (groups == 1) {
    multiply(steps);
    stream << "}\n";
    return text;
  }
  assert(static_cast<int64_t>(steps.size()) * kStepBytes == geometry.rowBytes &&
         !turnsColumns(geometry) &&
         "each is a step of K further than the one before");
  stream << ".reg .pred again;\n.reg .b64 left;\n"
         << "GROUP:\n.pragma \"nounroll\";\nwgmma.fence.sync.aligned;\n";
  multiply(ArrayRef(steps).take_front(ofGroup));
  auto advance = [&](StringRef descriptor, bool isTurned) {
    stream << "add.s64 " << descriptor << ", " << descriptor << ", "
           << ofGroup * getStepBytes(geometry, isTurned) / 16 << ";\n";
  };
  advance("rows", turnsRows(geometry));
  advance("columns", /*isTurned=*/false);
  stream << "and.b64 left, columns, " << steps.size() * kStepBytes / 16 - 1
         << ";\nsetp.ne.b64 again, left, 0;\n@again bra GROUP;\n}\n";
  return text;
}

WarpgroupProduct::WarpgroupProduct(TiledFrame &frame)
    : frame(frame), b(frame.b) {
  const TileGeometry &geometry = frame.geometry;
  int64_t rows = 0, columns = geometry.tileM * geometry.rowBytes;
  if (geometry.isSwapped())
    std::swap(rows, columns);
  // The place is the warp's own; its warpgroup's first is a multiple of 64.
  Value ofWarp = geometry.isSwapped() ? frame.warpColumn : frame.warpRow;
  Value firstRow = b.bitAnd(ofWarp, ~(kRows - 1));
  firstOfRows = getDescriptor(b.offset(b.offset(frame.shared, rows),
                                       b.mul(firstRow, geometry.rowBytes)),
                              turnsRows(geometry));
  firstOfColumns =
      getDescriptor(b.offset(frame.shared, columns), turnsColumns(geometry));
}

int64_t WarpgroupProduct::numAccumulators() const {
  return frame.geometry.productBlocks() * frame.geometry.wgmmaColumns() / 2;
}

/// How wgmma finds rows of 128 bytes, swizzled, 8 of them 1024 bytes apart
/// (PTX ISA, "Matrix descriptor": addresses and strides in units of 16 bytes).
/// Where such a row is of M or N, the leading stride is from those of a box to
/// those of the next.
/// LLVM must not add to its constant: ptxas 12.9 and 13.0 leave the high word
/// of some sums with 64-bit constants undefined, and so the swizzle and stride.
Value WarpgroupProduct::getDescriptor(Value memory, bool isTurned) {
  const TileGeometry &geometry = frame.geometry;
  constexpr int64_t swizzle128 = int64_t(1) << 62;
  constexpr int64_t stride = int64_t(1024 / 16) << 32;
  int64_t boxBytes = geometry.turnedExtent() * geometry.rowBytes;
  int64_t leading = (isTurned ? boxBytes / 16 : 1) << 16; // 1: not used
  Value address = b.bitAnd(b.shiftRight(b.toAddress(memory), 4), 0x3fff);
  Value descriptor =
      b.bitOr(b.toI64(address), b.i64(swizzle128 | stride | leading));
  return b.ptx(b.getI64Type(), "", "=l,0", descriptor);
}

/// `text` that gives accumulators, and changes `sums` if there are any.
Value WarpgroupProduct::emit(StringRef text, ValueRange sums,
                             ValueRange descriptors) {
  int64_t count = numAccumulators();
  std::string constraints = "=f";
  for (int64_t i = 1; i != count; ++i)
    constraints += ",=f";
  for (size_t i = 0; i != sums.size(); ++i)
    constraints += "," + std::to_string(i);
  for (size_t i = 0; i != descriptors.size(); ++i)
    constraints += ",l";
  SmallVector<Value> operands(sums);
  llvm::append_range(operands, descriptors);
  SmallVector<Type> types(count, b.getF32Type());
  Type type = LLVM::LLVMStructType::getLiteral(b.getContext(), types);
  return b.ptxRead(type, text, constraints, operands);
}

SmallVector<Value> WarpgroupProduct::split(Value sums) {
  SmallVector<Value> accumulators;
  for (int64_t i = 0; i != numAccumulators(); ++i)
    accumulators.push_back(LLVM::ExtractValueOp::create(b, sums, i));
  return accumulators;
}

Value WarpgroupProduct::multiply(Value sums, Value stage, StringRef text) {
  Value offset = b.toI64(b.mul(stage, frame.geometry.stageBytes() / 16));
  Value rows = b.add(firstOfRows, offset);
  Value columns = b.add(firstOfColumns, offset);
  SmallVector<Value> before;
  if (sums)
    before = split(sums);
  NVVM::WgmmaFenceAlignedOp::create(b);
  return emit(text, before, {rows, columns});
}

Value WarpgroupProduct::begin(Value stage, int64_t groups) {
  return multiply({}, stage,
                  ProductsText(frame.geometry, /*begins=*/true).get(groups));
}

Value WarpgroupProduct::advance(Value sums, Value stage, int64_t groups) {
  std::string products =
      ProductsText(frame.geometry, /*begins=*/false).get(groups);
  std::string wait =
      "wgmma.wait_group.sync.aligned " + std::to_string(groups) + ";";
  return multiply(sums, stage, products + wait);
}

/// The wait changes no accumulator, but they would be read before if it did
/// not seem to.
SmallVector<Value> WarpgroupProduct::complete(Value sums) {
  SmallVector<Value> all =
      split(emit("wgmma.wait_group.sync.aligned 0;", split(sums), {}));
  const TileGeometry &geometry = frame.geometry;
  if (geometry.isSwapped() || geometry.weights == 1)
    return all;
  // A block has the columns of each weight side by side.
  SmallVector<Value> byWeight;
  int64_t count = geometry.tileN / 2;
  for (int64_t weight = 0; weight != geometry.weights; ++weight)
    for (int64_t block = 0; block != geometry.wgmmaBlocks(); ++block)
      llvm::append_range(
          byWeight, ArrayRef(all).slice(
                        (block * geometry.weights + weight) * count, count));
  return byWeight;
}
