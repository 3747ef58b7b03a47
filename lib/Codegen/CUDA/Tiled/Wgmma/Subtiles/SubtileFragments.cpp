//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits ldmatrix and stmatrix, or accesses of two f32, at swizzled places.
//
//===----------------------------------------------------------------------===//

#include "SubtileFragments.h"

#include "Codegen/CUDA/Tiled/Swizzle.h"

#include "Codegen/CUDA/Emit/ElementEmitter.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::tenon;

SubtileFragments::SubtileFragments(TiledFrame &frame,
                                   const SubtileTensor &tensor, Value memory)
    : b(frame.b), tensor(tensor), bounds(tensor.value) {
  Value lane = frame.lane;
  // To ldmatrix and stmatrix a lane gives the address of 8 elements: lanes 0 to
  // 15 of 16 rows, the others of the next chunk of the same rows.
  Value row = isNarrow() ? b.bitAnd(lane, 15) : b.shiftRight(lane, 2);
  Value chunk = isNarrow()  ? b.shiftRight(lane, 4)
                : isBytes() ? b.i32(0)
                            : b.bitAnd(b.shiftRight(lane, 1), 1);
  Value place =
      b.shiftLeft(b.bitXor(chunk, getSwizzle(b, tensor.rowBytes, row)), 4);
  if (isBytes())
    place = b.bitOr(place, b.shiftLeft(b.bitAnd(lane, 3), 1));
  else if (!isNarrow())
    place = b.bitOr(place, b.shiftLeft(b.bitAnd(lane, 1), 3));
  Value rowOfWarp = b.shiftLeft(b.bitAnd(frame.warp, 3), 4);
  first = b.add(b.toAddress(memory),
                b.add(b.mul(b.add(rowOfWarp, row), tensor.rowBytes), place));
}

/// What lies `byte` bytes, a multiple of two chunks, behind the first block.
Value SubtileFragments::getPointer(int64_t byte) {
  return b.toSharedPointer(b.bitXor(first, byte));
}

/// Two blocks of 16 bits: in each the upper 8 rows, then the lower.
void SubtileFragments::loadMatrices(unsigned pair,
                                    SmallVectorImpl<Value> &elements) {
  Value loaded =
      b.loadMatrices(getPointer(32 * pair), /*count=*/4, NVVM::MMALayout::row);
  elements.append(extendWords(b, loaded, tensor.elementType));
}

/// A block of f32: a row of the upper 8, and the one 8 below.
void SubtileFragments::loadPairs(unsigned block,
                                 SmallVectorImpl<Value> &elements) {
  auto type = VectorType::get(2, b.getF32Type());
  Value pointer = getPointer(32 * block);
  for (int64_t row : {0, 8}) {
    Value loaded =
        LLVM::LoadOp::create(b, type, b.offset(pointer, row * tensor.rowBytes),
                             /*alignment=*/8);
    for (int64_t j = 0; j != 2; ++j)
      elements.push_back(vector::ExtractOp::create(b, loaded, j));
  }
}

SmallVector<Value> SubtileFragments::load() {
  SmallVector<Value> elements;
  for (unsigned i = 0; i != tensor.rowBytes / 32; ++i)
    if (isNarrow())
      loadMatrices(i, elements);
    else
      loadPairs(i, elements);
  return elements;
}

void SubtileFragments::store(unsigned block, ArrayRef<Value> elements) {
  for (unsigned i = 0; i != 4; i += 2) {
    Value first = elements[i], second = elements[i + 1];
    if (isNarrow()) {
      Value pair =
          bounds.apply(b, roundPair(b, first, second, tensor.elementType));
      words.push_back(LLVM::BitcastOp::create(b, b.getI32Type(), pair));
      continue;
    }
    if (isBytes()) {
      LLVM::StoreOp::create(
          b, roundBytes(b, first, second, tensor.elementType),
          b.offset(getPointer(8 * block), i * 4 * tensor.rowBytes),
          /*alignment=*/2);
      continue;
    }
    auto type = VectorType::get(2, tensor.elementType);
    LLVM::StoreOp::create(
        b, vector::FromElementsOp::create(b, type, ValueRange{first, second}),
        b.offset(getPointer(32 * block), i * 4 * tensor.rowBytes),
        /*alignment=*/8);
  }
  if (words.size() != 4)
    return;
  b.storeMatrices(getPointer(32 * (block / 2)), words, NVVM::MMALayout::row);
  words.clear();
}
