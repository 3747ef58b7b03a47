//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loads fragments with ldmatrix and multiplies them with mma.sync.
//
//===----------------------------------------------------------------------===//

#include "WarpProduct.h"

#include "Codegen/CUDA/Tiled/Swizzle.h"

#include "tenon/Dialect/Tenon/IR/NarrowFloats.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::tenon;

WarpProduct::WarpProduct(TiledFrame &frame) : frame(frame), b(frame.b) {
  const TileGeometry &geometry = frame.geometry;
  Value lane = frame.lane;
  // The rows and 16-byte chunks whose addresses the lanes give to ldmatrix.x4:
  // of x two 8-row halves by two chunks, of w two 8-column blocks by two.
  Value rowOfX = b.add(frame.warpRow, b.bitAnd(lane, 15));
  Value chunkOfX = b.shiftRight(lane, 4);
  Value rowOfW =
      b.add(frame.warpColumn,
            b.bitOr(b.bitAnd(lane, 7), b.shiftLeft(b.shiftRight(lane, 4), 3)));
  Value chunkOfW = b.bitAnd(b.shiftRight(lane, 3), 1);
  auto getOffset = [&](Value row, Value chunk) {
    Value place = b.bitXor(chunk, getSwizzle(b, geometry.rowBytes, row));
    return b.add(b.mul(row, geometry.rowBytes), b.shiftLeft(place, 4));
  };
  offsetOfX = getOffset(rowOfX, chunkOfX);
  offsetOfW =
      b.add(getOffset(rowOfW, chunkOfW), geometry.tileM * geometry.rowBytes);
}

/// Rounds the bits of an f32. A NaN that has its only bits where tf32 has none
/// would come out as infinity.
static Value emitRoundTf32(KernelBuilder &b, Value bits) {
  Value rounded =
      b.ptx(b.getI32Type(), "cvt.rna.tf32.f32 $0, $1;", "=r,r", bits);
  Value number = arith::BitcastOp::create(b, b.getF32Type(), bits);
  Value isNaN =
      arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, number, number);
  constexpr int32_t quietNaN = 0x7FC00000;
  return b.select(isNaN, b.i32(quietNaN), rounded);
}

SmallVector<Value> WarpProduct::load(Value stage, unsigned step,
                                     unsigned index) {
  unsigned loadsOfW = columnBlocks() / 2;
  unsigned pair = index / numParts(), part = index % numParts();
  bool isW = pair < loadsOfW;
  unsigned block = isW ? pair : pair - loadsOfW;
  unsigned row = 16 * block;
  if (isW) { // those of further weights lie behind the tile's first
    unsigned ofWeight = frame.geometry.warpN() / 16;
    row = 16 * (block % ofWeight) + block / ofWeight * frame.geometry.tileN;
  }
  unsigned chunks = step + part * numSteps();
  // Stages begin at multiples of a row, so the swizzle's exclusive or may be
  // applied to the whole address: no register for each k-step's offset.
  Value address = b.toAddress(b.offset(stage, isW ? offsetOfW : offsetOfX));
  Value pointer =
      b.offset(LLVM::IntToPtrOp::create(b, stage.getType(),
                                        b.bitXor(address, 32 * chunks)),
               row * frame.geometry.rowBytes);
  Value loaded = b.loadMatrices(pointer, /*count=*/4, NVVM::MMALayout::row);
  SmallVector<Value> registers;
  for (int64_t i = 0; i != 4; ++i) {
    registers.push_back(LLVM::ExtractValueOp::create(b, loaded, i));
    if (frame.geometry.roundsTf32)
      registers.back() = emitRoundTf32(b, registers.back());
  }
  return registers;
}

SmallVector<Value> WarpProduct::order(ArrayRef<SmallVector<Value>> loaded) {
  unsigned loadsOfW = columnBlocks() / 2 * numParts();
  SmallVector<Value> registers;
  for (ArrayRef<Value> four : loaded.drop_front(loadsOfW))
    llvm::append_range(registers, four);
  for (ArrayRef<Value> four : loaded.take_front(loadsOfW))
    llvm::append_range(registers, four);
  return registers;
}

/// A block's fragments, in the order of the loads.
SmallVector<Value> WarpProduct::orderByWeight(ArrayRef<Value> accumulators) {
  unsigned weights = frame.geometry.weights;
  size_t count = columnBlocks() / weights * 4; // of a row block
  SmallVector<Value> ordered;
  for (unsigned weight = 0; weight != weights; ++weight)
    for (unsigned row = 0; row != rowBlocks(); ++row)
      llvm::append_range(
          ordered, accumulators.slice((row * weights + weight) * count, count));
  return ordered;
}

ArrayRef<Value> WarpProduct::getX(ArrayRef<Value> registers, unsigned row,
                                  unsigned part) {
  return registers.slice((row * numParts() + part) * 4, 4);
}

ArrayRef<Value> WarpProduct::getW(ArrayRef<Value> registers, unsigned column,
                                  unsigned part) {
  unsigned four = column / 2 * numParts() + part; // of two blocks
  return registers.slice(numRegistersOfX() + four * 4 + column % 2 * 2, 2);
}

void WarpProduct::multiply(SmallVectorImpl<Value> &accumulators,
                           ArrayRef<Value> registers,
                           llvm::function_ref<void(unsigned)> before) {
  MutableArrayRef<Value> all(accumulators);
  unsigned number = 0;
  if (numParts() != 1)
    return multiplyParts(all, registers, [&] { before(number++); });
  for (unsigned row = 0; row != rowBlocks(); ++row)
    for (unsigned i = 0; i != columnBlocks(); ++i) {
      before(number++);
      // Back and forth, so that neighbours in time share a fragment.
      unsigned column = row % 2 == 0 ? i : columnBlocks() - 1 - i;
      multiplyBlock(all.slice((row * columnBlocks() + column) * 4, 4),
                    getX(registers, row, 0), getW(registers, column, 0));
    }
}

/// Four blocks at a time, whose products do not wait for one another. What they
/// give is added to the accumulators during the next four's products.
void WarpProduct::multiplyParts(MutableArrayRef<Value> accumulators,
                                ArrayRef<Value> registers,
                                llvm::function_ref<void()> before) {
  MutableArrayRef<Value> sums;
  SmallVector<Value> finished;
  auto addFinished = [&] {
    for (auto [sum, partial] : llvm::zip(sums, finished))
      sum = arith::AddFOp::create(b, sum, partial);
    finished.clear();
  };
  for (unsigned block = 0; block != rowBlocks() * columnBlocks(); block += 4) {
    unsigned row = block / columnBlocks(), column = block % columnBlocks();
    SmallVector<Value> partials(16, b.f32(0));
    for (auto [partOfX, partOfW] :
         frame.geometry.schedule.getMethodTraits().products) {
      for (unsigned i = 0; i != 4; ++i) {
        before();
        multiplyBlock(MutableArrayRef(partials).slice(4 * i, 4),
                      getX(registers, row, partOfX),
                      getW(registers, column + i, partOfW));
      }
      addFinished();
    }
    sums = accumulators.slice(block * 4, 16);
    finished = std::move(partials);
  }
  addFinished();
}

/// mma.sync takes f16 as pairs, and other types as bits.
SmallVector<Value> WarpProduct::toOperands(ValueRange registers) {
  if (!frame.geometry.elementType.isF16())
    return llvm::to_vector(registers);
  auto pair = VectorType::get(2, b.getF16Type());
  return llvm::map_to_vector(registers, [&](Value value) -> Value {
    return LLVM::BitcastOp::create(b, pair, value);
  });
}

/// NVVM's op has no f8.
static Value multiplyBytes(KernelBuilder &b, Type element, Type result,
                           ArrayRef<Value> operands) {
  std::string type = isa<Float8E5M2Type>(element) ? "e5m2" : "e4m3";
  return b.ptx(result,
               "mma.sync.aligned.m16n8k32.row.col.f32." + type + "." + type +
                   ".f32 {$0, $1, $2, $3}, {$4, $5, $6, $7}, {$8, $9}, "
                   "{$10, $11, $12, $13};",
               "=f,=f,=f,=f,r,r,r,r,r,r,f,f,f,f", operands);
}

void WarpProduct::multiplyBlock(MutableArrayRef<Value> accumulators,
                                ValueRange x, ValueRange w) {
  Type element = frame.geometry.elementType;
  NVVM::MMATypes type = element.isF16()    ? NVVM::MMATypes::f16
                        : element.isBF16() ? NVVM::MMATypes::bf16
                                           : NVVM::MMATypes::tf32;
  int64_t k = 32 / frame.geometry.elementBytes;
  SmallVector<Type> types(4, b.getF32Type());
  auto result = LLVM::LLVMStructType::getLiteral(b.getContext(), types);
  Value product;
  if (isNarrowFloat(element)) {
    SmallVector<Value> operands(x);
    llvm::append_range(operands, w);
    llvm::append_range(operands, accumulators);
    product = multiplyBytes(b, element, result, operands);
  } else {
    product = NVVM::MmaOp::create(
        b, result, toOperands(x), toOperands(w),
        ValueRange(ArrayRef<Value>(accumulators)), {16, 8, k},
        /*b1Op=*/std::nullopt, /*intOverflow=*/std::nullopt,
        std::array{type, type},
        std::array{NVVM::MMALayout::row, NVVM::MMALayout::col});
  }
  for (auto [i, accumulator] : llvm::enumerate(accumulators))
    accumulator = LLVM::ExtractValueOp::create(b, product, int64_t(i));
}
