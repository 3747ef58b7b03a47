//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits transposing ldmatrix and stmatrix, or accesses of one f32, at swizzled
// places.
//
//===----------------------------------------------------------------------===//

#include "SwappedFragments.h"

#include "Codegen/CUDA/Emit/ElementEmitter.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::tenon;

/// Rows of a block, and bytes of a row in shared memory: a chunk of 16 of them
/// lies at its number xor that of the row.
static constexpr int64_t kRows = 8, kRowBytes = 128, kChunkBytes = 16;

/// Where chunk 0 of row 1 lies. The bits of a row's number, times that, do not
/// meet; those of its chunks, and of places in them, are xor'd to it.
static constexpr int64_t kSwizzledRow = kRowBytes + kChunkBytes;

SwappedFragments::SwappedFragments(TiledFrame &frame,
                                   const EpilogueSubtiles &subtiles,
                                   const SubtileTensor &tensor, Value memory)
    : b(frame.b), hasOneRow(frame.geometry.m == 1), tensor(tensor),
      bounds(tensor.value), boxBytes(subtiles.getBoxBytes(tensor)),
      numBlocks(subtiles.rows / kRows), memory(b.toAddress(memory)) {
  assert(tensor.rowBytes == kRowBytes && "a box is as wide as a swizzle");
  first = isNarrow() ? getFirstOfMatrices(frame) : getFirstElement(frame);
}

/// To ldmatrix and stmatrix a lane gives the address of a row of 8 elements:
/// lanes 0 to 7 of a block's rows, the next 8 of the next chunk of the same
/// rows, the others the same of the next block. A warp has two chunks.
Value SwappedFragments::getFirstOfMatrices(TiledFrame &frame) {
  Value row = b.bitAnd(frame.lane, kRows - 1);
  Value chunk = b.bitOr(b.shiftLeft(b.bitAnd(frame.warp, 3), 1),
                        b.bitAnd(b.shiftRight(frame.lane, 3), 1));
  Value block = b.shiftRight(frame.lane, 4);
  return b.add(b.mul(block, kRows * kRowBytes),
               b.bitXor(b.mul(row, kSwizzledRow), b.mul(chunk, kChunkBytes)));
}

/// A box has the columns of two warps. The 32 lanes of an access have 4 rows of
/// 8 columns, and meet no bank twice: the rows are even, and the columns two
/// neighbouring chunks.
Value SwappedFragments::getFirstElement(TiledFrame &frame) {
  Value ofLane = b.add(b.mul(frame.getLanePair(), kSwizzledRow),
                       b.bitAnd(frame.lane, 7 * 4)); // column, of 4 bytes
  Value ofWarp = b.mul(b.bitAnd(frame.warp, 1), 4 * kChunkBytes);
  Value box = b.mul(b.bitAnd(b.shiftRight(frame.warp, 1), 1), boxBytes);
  return b.add(box, b.bitXor(ofLane, ofWarp));
}

Value SwappedFragments::getPointer(unsigned block, Value place) {
  return b.offset(b.toSharedPointer(b.add(memory, place)),
                  block * kRows * kRowBytes);
}

/// Of f32: element `index` of the thread's 4. The next row, and the column 8
/// further on, change bits of the place that are not set.
Value SwappedFragments::getElement(unsigned block, unsigned index) {
  int64_t bits = (index % 2 ? kRowBytes | kChunkBytes : 0) |
                 (index / 2 ? 2 * kChunkBytes : 0);
  return getPointer(block, bits == 0 ? first : b.bitXor(first, bits));
}

/// One block of 16 bits, or two: of each the first 8 columns, then the others.
void SwappedFragments::loadMatrices(unsigned block,
                                    SmallVectorImpl<Value> &elements) {
  unsigned count = block + 1 == numBlocks ? 2 : 4;
  Value loaded =
      b.loadMatrices(getPointer(block, first), count, NVVM::MMALayout::col);
  elements.append(extendWords(b, loaded, tensor.elementType));
}

SmallVector<Value> SwappedFragments::load(unsigned begin, unsigned end) {
  SmallVector<Value> elements;
  if (isNarrow()) {
    for (unsigned block = begin; block < end; block += 2)
      loadMatrices(block, elements);
    return elements;
  }
  for (unsigned i = 4 * begin; i != 4 * end; ++i)
    elements.push_back(LLVM::LoadOp::create(
        b, b.getF32Type(), getElement(i / 4, i % 4), /*alignment=*/4));
  return elements;
}

/// Those of `block`, and of the one before where that is not written yet.
void SwappedFragments::storeMatrices(unsigned block) {
  b.storeMatrices(getPointer(block / 2 * 2, first), words,
                  NVVM::MMALayout::col);
  words.clear();
}

/// Each column's two elements as a word. Of a matrix of one row both are one
/// value, which is rounded with the other column's (roundPair), and that
/// is left where the second row would be, and that is never copied.
void SwappedFragments::addWords(ArrayRef<Value> elements) {
  auto add = [&](Value one, Value other) {
    words.push_back(LLVM::BitcastOp::create(
        b, b.getI32Type(),
        bounds.apply(b, roundPair(b, one, other, tensor.elementType))));
  };
  add(elements[0], elements[hasOneRow ? 2 : 1]);
  if (hasOneRow)
    words.push_back(b.shiftRight(words.back(), 16));
  else
    add(elements[2], elements[3]);
}

SmallVector<Value> SwappedFragments::store(unsigned block,
                                           ArrayRef<Value> elements) {
  SmallVector<Value> written;
  if (!isNarrow()) {
    for (auto [index, element] : llvm::enumerate(elements)) {
      written.push_back(castFloat(b, element, tensor.elementType));
      LLVM::StoreOp::create(b, written.back(), getElement(block, index),
                            /*alignment=*/4);
    }
    return written;
  }
  addWords(elements);
  written.append(words.end() - 2, words.end());
  if (block % 2 == 1 || block + 1 == numBlocks)
    storeMatrices(block);
  return written;
}
