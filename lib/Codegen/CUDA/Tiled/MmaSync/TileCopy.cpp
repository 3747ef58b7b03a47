//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Copies tiles with cp.async, 16 bytes at a time or as the alignment allows.
//
//===----------------------------------------------------------------------===//

#include "TileCopy.h"

#include "Codegen/CUDA/Tiled/Swizzle.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::tenon;

TileCopy::TileCopy(TiledFrame &frame) : frame(frame), b(frame.b) {
  const TileGeometry &geometry = frame.geometry;
  row = b.div(frame.thread, geometry.chunksPerRow());
  chunk = b.rem(frame.thread, geometry.chunksPerRow());
  // The rows of further copies are a multiple of 8 away, so they swizzle alike.
  Value place = b.bitXor(chunk, getSwizzle(b, geometry.rowBytes, row));
  target = b.offset(frame.shared, b.add(b.mul(row, geometry.rowBytes),
                                        b.shiftLeft(place, 4)));
  if (!geometry.hasKTail())
    return;
  int64_t bytes = geometry.k % geometry.tileK * geometry.elementBytes;
  Value left = b.sub(b.i32(bytes), b.shiftLeft(chunk, 4));
  tailBytes = b.minSigned(b.maxSigned(left, b.i32(0)), b.i32(16));
}

int64_t TileCopy::getStride(unsigned index) {
  const TileGeometry &geometry = frame.geometry;
  if (index < geometry.copiesOfX())
    return geometry.turnsX ? geometry.m : 1;
  return geometry.turnsW ? geometry.n : 1;
}

Value TileCopy::getRowSource(Value matrix, Value firstRow, Value rows,
                             unsigned copy, int64_t rowBytes) {
  const TileGeometry &geometry = frame.geometry;
  Value own = b.add(b.add(firstRow, row), copy * geometry.rowsPerCopy());
  own = b.min(own, b.sub(rows, 1));
  return b.offset(matrix, b.mul(b.toI64(own), rowBytes));
}

SmallVector<Value> TileCopy::getSources(const WorkItem &item, Value kTile) {
  const TileGeometry &geometry = frame.geometry;
  Value inRow =
      b.add(b.mul(b.toI64(kTile), geometry.toSource(geometry.rowBytes)),
            b.shiftLeft(b.toI64(chunk), llvm::Log2_64(geometry.toSource(16))));
  SmallVector<Value> sources;
  auto add = [&](Value matrix, Value firstRow, Value rows, int64_t copies,
                 bool isTurned) {
    int64_t rowBytes = (isTurned ? 1 : geometry.k) * geometry.sourceBytes;
    int64_t stride = getStride(sources.size());
    Value along = stride == 1 ? inRow : b.mul(inRow, stride);
    for (unsigned copy = 0; copy != copies; ++copy)
      sources.push_back(b.offset(
          getRowSource(matrix, firstRow, rows, copy, rowBytes), along));
  };
  add(frame.x, item.row, frame.m, geometry.copiesOfX(), geometry.turnsX);
  for (Value w : frame.weights)
    add(w, item.column, b.i32(geometry.n), geometry.copiesOfW(),
        geometry.turnsW);
  return sources;
}

SmallVector<Value> TileCopy::getMovingSources(const WorkItem &item,
                                              Value kTile) {
  SmallVector<Value> sources = getSources(item, kTile);
  for (Value &source : sources)
    source = b.ptx(source.getType(), "mov.b64 $0, $1;", "=l,l", source);
  return sources;
}

Value TileCopy::getNextStage(Value stage) {
  int64_t bytes = frame.geometry.stageBytes();
  Value next = b.add(stage, bytes);
  return b.select(b.equal(next, frame.geometry.stages * bytes), b.i32(0), next);
}

Value TileCopy::getValidBytes(Value kTile) {
  if (!tailBytes)
    return Value();
  return b.select(b.equal(kTile, frame.geometry.kTiles() - 1), tailBytes,
                  b.i32(16));
}

void TileCopy::start(const WorkItem &item, Value isReal) {
  const TileGeometry &geometry = frame.geometry;
  SmallVector<Value> sources = getSources(item, item.kBegin);
  for (int64_t stage = 0; stage != geometry.stages - 1; ++stage) {
    Value real = b.toI32(b.both(isReal, b.less(b.i32(stage), item.kCount)));
    Value valid = getValidBytes(b.add(item.kBegin, stage));
    Value place = getTarget(b.i32(stage * geometry.stageBytes()));
    for (auto [index, source] : llvm::enumerate(sources))
      copy(index, place,
           b.offset(source, stage * geometry.toSource(geometry.rowBytes) *
                                getStride(index)),
           real, valid);
    commit();
  }
}

void TileCopy::copy(unsigned index, Value target, Value source, Value isReal,
                    Value validBytes) {
  const TileGeometry &geometry = frame.geometry;
  // w's rows follow x's, so copies are at equal distances throughout.
  int64_t offset = index * geometry.rowsPerCopy() * geometry.rowBytes;
  Value address = b.toAddress(target);
  int64_t stride = getStride(index);
  if (geometry.sourceBytes != geometry.elementBytes)
    copyNarrow(address, offset, source, isReal, validBytes);
  else if (geometry.copyBytes == 16 && stride == 1)
    copyWhole(address, offset, source, isReal, validBytes);
  else if ((stride == 1 ? geometry.copyBytes : geometry.elementBytes) >= 4)
    copyParts(address, offset, source, stride, isReal, validBytes);
  else
    copyElements(address, offset, source, stride, isReal, validBytes);
}

void TileCopy::copyNext(unsigned index, Value target, Value &source,
                        Value isReal, Value validBytes) {
  source = b.ptx(
      source.getType(),
      "add.s64 $0, $1, " +
          std::to_string(frame.geometry.toSource(frame.geometry.rowBytes) *
                         getStride(index)) +
          ";",
      "=l,l", source);
  copy(index, target, source, isReal, validBytes);
}

void TileCopy::copyWhole(Value address, int64_t offset, Value source,
                         Value isReal, Value validBytes) {
  std::string text = "{ .reg .pred p; setp.ne.b32 p, $2, 0; "
                     "@p cp.async.cg.shared.global.L2::128B [$0+" +
                     std::to_string(offset) + "], [$1], 16" +
                     (validBytes ? ", $3" : "") + "; }";
  SmallVector<Value> operands{address, source, isReal};
  if (validBytes)
    operands.push_back(validBytes);
  b.ptx(text, validBytes ? "r,l,r,r" : "r,l,r", operands);
}

/// Parts of 8 or 4 bytes, each of which is valid or not as a whole. With a
/// stride they are elements.
void TileCopy::copyParts(Value address, int64_t offset, Value source,
                         int64_t stride, Value isReal, Value validBytes) {
  int64_t bytes =
      stride == 1 ? frame.geometry.copyBytes : frame.geometry.elementBytes;
  for (int64_t part = 0; part != 16; part += bytes) {
    std::string size = std::to_string(bytes), at = std::to_string(part);
    // PTX has no more than 32 bits for what it adds to an address.
    Value begin = stride == 1 ? source : b.offset(source, part * stride);
    std::string copy = "@p cp.async.ca.shared.global [$0+" +
                       std::to_string(offset + part) + "], [$1+" +
                       (stride == 1 ? at : "0") + "], " + size;
    SmallVector<Value> operands{address, begin, isReal};
    if (validBytes)
      operands.push_back(validBytes);
    std::string text = "{ .reg .pred p, q; .reg .b32 size; "
                       "setp.ne.b32 p, $2, 0; ";
    if (validBytes)
      text += "setp.gt.s32 q, $3, " + at + "; selp.b32 size, " + size +
              ", 0, q; " + copy + ", size; }";
    else
      text += copy + "; }";
    b.ptx(text, validBytes ? "r,l,r,r" : "r,l,r", operands);
  }
}

/// Elements of 2 bytes that are aligned to no more, or `stride` apart: cp.async
/// does not take them, so they go through registers.
void TileCopy::copyElements(Value address, int64_t offset, Value source,
                            int64_t stride, Value isReal, Value validBytes) {
  std::string text = "{ .reg .pred p, q; .reg .b16 e<8>; .reg .b32 v<4>; ";
  if (stride != 1)
    text += ".reg .b64 from; ";
  text += "setp.ne.b32 p, $2, 0; ";
  for (int64_t i = 0; i != 8; ++i) {
    std::string e = "e" + std::to_string(i), at = std::to_string(2 * i);
    text += "mov.b16 " + e + ", 0; setp.gt.and.s32 q, $3, " + at + ", p; ";
    // PTX has no more than 32 bits for what it adds to an address.
    if (stride != 1)
      text += "add.s64 from, $1, " + std::to_string(2 * i * stride) + "; @q " +
              "ld.global.b16 " + e + ", [from]; ";
    else
      text += "@q ld.global.b16 " + e + ", [$1+" + at + "]; ";
  }
  for (int64_t i = 0; i != 4; ++i)
    text += "mov.b32 v" + std::to_string(i) + ", {e" + std::to_string(2 * i) +
            ", e" + std::to_string(2 * i + 1) + "}; ";
  text += "@p st.shared.v4.b32 [$0+" + std::to_string(offset) +
          "], {v0, v1, v2, v3}; }";
  b.ptx(text, "r,l,r,r",
        {address, source, isReal, validBytes ? validBytes : b.i32(16)});
}

/// Elements of 8 bits, as f16: for sm_90a, which has an instruction for two.
void TileCopy::copyNarrow(Value address, int64_t offset, Value source,
                          Value isReal, Value validBytes) {
  bool isE5M2 = isa<Float8E5M2Type>(frame.geometry.sourceType);
  std::string text = "{ .reg .pred p, q; .reg .b16 e<8>; .reg .b32 v<4>; "
                     "setp.ne.b32 p, $2, 0; ";
  for (int64_t i = 0; i != 8; ++i) {
    std::string e = "e" + std::to_string(i);
    text += "mov.b16 " + e + ", 0; setp.gt.and.s32 q, $3, " +
            std::to_string(2 * i) + ", p; @q ld.global.u8 " + e + ", [$1+" +
            std::to_string(i) + "]; ";
  }
  for (int64_t i = 0; i != 4; ++i) {
    std::string low = "e" + std::to_string(2 * i),
                high = "e" + std::to_string(2 * i + 1);
    text += "shl.b16 " + high + ", " + high + ", 8; or.b16 " + low + ", " +
            low + ", " + high + "; cvt.rn.f16x2." +
            (isE5M2 ? "e5m2x2" : "e4m3x2") + " v" + std::to_string(i) + ", " +
            low + "; ";
  }
  text += "@p st.shared.v4.b32 [$0+" + std::to_string(offset) +
          "], {v0, v1, v2, v3}; }";
  b.ptx(text, "r,l,r,r",
        {address, source, isReal, validBytes ? validBytes : b.i32(16)});
}

void TileCopy::commit() { NVVM::CpAsyncCommitGroupOp::create(b); }

void TileCopy::wait(unsigned count) {
  NVVM::CpAsyncWaitGroupOp::create(b, count);
}
