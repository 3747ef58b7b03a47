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

using namespace mlir;
using namespace mlir::tenon;

/// Rows of one wgmma, and bytes of K.
static constexpr int64_t kRows = 64, kStepBytes = 32;

/// A step of K of what wgmma takes as rows, x unless operands are swapped, and
/// the one of the other that it is multiplied with.
using Step = std::pair<int64_t, int64_t>;

/// The products of a stage's four steps. Split rows in two parts have their
/// high halves in the first two and the low ones in the others, whose own
/// product is below what f32 keeps. Small products come first: what they lose
/// as they are added is less.
static SmallVector<Step> getSteps(const TileGeometry &geometry) {
  if (geometry.schedule.getMethod() == ProductMethod::FP16x3)
    return {{2, 0}, {3, 1}, {0, 2}, {1, 3}, {0, 0}, {1, 1}};
  return {{0, 0}, {1, 1}, {2, 2}, {3, 3}};
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
                                       b.mul(firstRow, geometry.rowBytes)));
  firstOfColumns = getDescriptor(b.offset(frame.shared, columns));
}

int64_t WarpgroupProduct::numAccumulators() const {
  return frame.geometry.wgmmaBlocks() * frame.geometry.wgmmaColumns() / 2;
}

Type WarpgroupProduct::getBlockType() {
  SmallVector<Type> types(frame.geometry.wgmmaColumns() / 2, b.getF32Type());
  return LLVM::LLVMStructType::getLiteral(b.getContext(), types);
}

SmallVector<Value> WarpgroupProduct::getUndefined() {
  // Zeros would become moves, one a register.
  Value undefined = LLVM::UndefOp::create(b, getBlockType());
  return SmallVector<Value>(numBlocks(), undefined);
}

/// How wgmma finds rows of 128 bytes, swizzled, 8 of them 1024 bytes apart
/// (PTX ISA, "Matrix descriptor": addresses and strides in units of 16 bytes).
/// LLVM must not add to its constant: ptxas 12.9 and 13.0 leave the high word
/// of some sums with 64-bit constants undefined, and so the swizzle and stride.
Value WarpgroupProduct::getDescriptor(Value memory) {
  constexpr int64_t swizzle128 = int64_t(1) << 62;
  constexpr int64_t stride = int64_t(1024 / 16) << 32;
  constexpr int64_t leading = int64_t(1) << 16; // not used with this swizzle
  Value address = b.bitAnd(b.shiftRight(b.toAddress(memory), 4), 0x3fff);
  Value descriptor =
      b.bitOr(b.toI64(address), b.i64(swizzle128 | stride | leading));
  return b.ptx(b.getI64Type(), "", "=l,0", descriptor);
}

Value WarpgroupProduct::multiplyBlock(Value block, Value rows, Value columns,
                                      bool replaces) {
  const TileGeometry &geometry = frame.geometry;
  MLIRContext *context = b.getContext();
  NVVM::WGMMATypes type = geometry.elementType.isF16() ? NVVM::WGMMATypes::f16
                          : geometry.elementType.isBF16()
                              ? NVVM::WGMMATypes::bf16
                              : NVVM::WGMMATypes::tf32;
  auto shape = NVVM::MMAShapeAttr::get(context, kRows, geometry.wgmmaColumns(),
                                       kStepBytes / geometry.elementBytes);
  return NVVM::WgmmaMmaAsyncOp::create(
      b, getBlockType(), block, rows, columns, shape, type, type,
      NVVM::WGMMATypes::f32,
      replaces ? NVVM::WGMMAScaleOut::zero : NVVM::WGMMAScaleOut::one,
      NVVM::WGMMAScaleIn::one, NVVM::WGMMAScaleIn::one, NVVM::MMALayout::row,
      NVVM::MMALayout::col, /*satfinite=*/NVVM::MMAIntOverflowAttr());
}

SmallVector<Value> WarpgroupProduct::multiply(ValueRange blocks, Value stage,
                                              bool replaces) {
  const TileGeometry &geometry = frame.geometry;
  Value offset = b.toI64(b.mul(stage, geometry.stageBytes() / 16));
  Value rows = b.add(firstOfRows, offset);
  Value columns = b.add(firstOfColumns, offset);
  SmallVector<Value> results(blocks);
  NVVM::WgmmaFenceAlignedOp::create(b);
  for (auto [ofRows, ofColumns] : getSteps(geometry)) {
    for (unsigned i = 0; i != numBlocks(); ++i) {
      int64_t inRows =
          (ofRows * kStepBytes + i * kRows * geometry.rowBytes) / 16;
      int64_t inColumns = ofColumns * kStepBytes / 16;
      results[i] = multiplyBlock(results[i], b.add(rows, inRows),
                                 b.add(columns, inColumns), replaces);
    }
    replaces = false;
  }
  NVVM::WgmmaGroupSyncAlignedOp::create(b);
  return results;
}

/// `block` after `text`: without the dependence its registers could be read
/// before.
Value WarpgroupProduct::tie(Value block, StringRef text) {
  unsigned count = frame.geometry.wgmmaColumns() / 2;
  SmallVector<Value> registers;
  std::string constraints;
  for (int64_t i = 0; i != count; ++i) {
    registers.push_back(LLVM::ExtractValueOp::create(b, block, i));
    constraints += i ? ",=f" : "=f";
  }
  for (unsigned i = 0; i != count; ++i)
    constraints += "," + std::to_string(i);
  return b.ptxRead(getBlockType(), text, constraints, registers);
}

SmallVector<Value> WarpgroupProduct::wait(ValueRange blocks, unsigned pending) {
  std::string text =
      "wgmma.wait_group.sync.aligned " + std::to_string(pending) + ";";
  SmallVector<Value> results;
  for (Value block : blocks) {
    results.push_back(tie(block, text));
    text.clear(); // waiting once is enough
  }
  return results;
}

SmallVector<Value> WarpgroupProduct::getAccumulators(ValueRange blocks) {
  SmallVector<Value> accumulators;
  for (Value block : blocks)
    for (int64_t i = 0; i != frame.geometry.wgmmaColumns() / 2; ++i)
      accumulators.push_back(LLVM::ExtractValueOp::create(b, block, i));
  return accumulators;
}
