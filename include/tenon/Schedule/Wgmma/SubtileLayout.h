//===- SubtileLayout.h - Subtiles of an epilogue ----------------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How an epilogue's [M, N] tensors pass through shared memory. The choice of
// schedules asks it as well as their kernels.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_SCHEDULE_WGMMA_SUBTILELAYOUT_H
#define TENON_SCHEDULE_WGMMA_SUBTILELAYOUT_H

#include "tenon/Dialect/Tenon/IR/Tenon.h"

#include <optional>

namespace mlir::tenon {

/// An [M, N] operand or result of the epilogue.
struct SubtileTensor {
  Value matrix; ///< the layer's operand, result or output
  Value value;  ///< the region's argument, or what it yields
  Type elementType;
  int64_t rowBytes; ///< of a subtile, or of each of its boxes
  int64_t offset;   ///< of the first buffer in its warpgroup's memory

  int64_t elementBytes() const {
    return elementType.getIntOrFloatBitWidth() / 8;
  }
};

/// Moments of a result. They are computed from its buffers, or with swapped
/// operands from registers.
struct ResultMoments {
  unsigned result; ///< of SubtileLayout::results
  unsigned output; ///< of the layer, where they are stored
  bool sums;       ///< alone
};

/// A warpgroup finishes its part of a tile in subtiles of 64 rows by `columns`
/// columns, along N first. Each [M, N] tensor has buffers of this size in the
/// warpgroup's epilogue memory, which take subtiles in turn: some are on their
/// way while another is computed. A buffer's rows lie as TMA's swizzle of
/// `rowBytes` has them.
///
/// An operand and a result of one type have the same buffers where they can:
/// some are loaded, one is computed in place, some are stored.
///
/// With swapped operands a subtile has 64 columns by `rows` rows, and they
/// follow each other along M first. The columns of f32 are two boxes of 32, one
/// behind the other.
struct SubtileLayout {
  /// Rows of a wgmma.
  static constexpr int64_t kRows = 64;

  /// The widest subtiles that fit. None if the results have to be stored in
  /// another way: TMA needs rows of multiples of 16 bytes, in tensors of f32,
  /// f16 or bf16, or results of 8 bits, and its narrowest swizzle rows of 32
  /// bytes of a subtile. Moments need what they are of among the results,
  /// unless with swapped operands they come from registers. Operands that only
  /// what is reduced depends on have no part in it.
  ///
  /// `body` is the region of a layer whose epilogue has `operands`, and results
  /// or outputs `results`; the kernel has a schedule of family wgmma.
  static std::optional<SubtileLayout> choose(Block &body, ValueRange operands,
                                             ValueRange results,
                                             ScheduleAttr schedule);

  int64_t getBoxBytes(const SubtileTensor &tensor) const {
    return rows * tensor.rowBytes;
  }
  int64_t getBoxColumns(const SubtileTensor &tensor) const {
    return tensor.rowBytes / tensor.elementBytes();
  }
  int64_t getBoxes(const SubtileTensor &tensor) const {
    return columns / getBoxColumns(tensor);
  }
  int64_t getBufferBytes(const SubtileTensor &tensor) const {
    return getBoxes(tensor) * getBoxBytes(tensor);
  }
  /// Whether some elements have 16 bits.
  bool areNarrow() const {
    auto isNarrow = [](const SubtileTensor &tensor) {
      return tensor.elementBytes() == 2;
    };
    return llvm::any_of(operands, isNarrow) || llvm::any_of(results, isNarrow);
  }
  /// Of a warpgroup in a tile.
  int64_t getCount() const { return rowBlocks * perRow; }
  /// Barriers that a warpgroup's buffers need (SubtileCopies.h).
  int64_t getNumBarriers() const;
  /// A subtile's first row in its warpgroup's part of the tile.
  int64_t getRow(int64_t number) const {
    return isSwapped ? number % perRow * rows : number / perRow * rows;
  }

  bool isSwapped;
  int64_t rows, columns;
  int64_t numBuffers; ///< of each tensor
  bool areShared;     ///< by an operand and a result
  /// How many stores may not have read their buffers when the next use of one
  /// is prepared.
  int64_t getPendingStores() const {
    return areShared ? 0 : std::max<int64_t>(1, numBuffers - 2);
  }
  /// How many of a tile's first `count` subtiles can be released together: a
  /// buffer is given back when as many as are pending have been stored after
  /// it, so that none of these may wait for one that comes with it.
  int64_t getMostTogether(int64_t count) const {
    return count <= numBuffers ? count : numBuffers - getPendingStores();
  }
  // Rows of wgmma: with swapped operands columns of the tile.
  int64_t rowBlocks; ///< of 64 rows, that a warpgroup has of a tile
  int64_t perRow;    ///< subtiles side by side in a tile
  SmallVector<SubtileTensor> operands, results;
  SmallVector<ResultMoments> moments;
  bool givesMoments = false; ///< of results, or of what is not stored

private:
  bool addMoments(Operation *yield);
  const SubtileTensor *findShared(ScheduleAttr schedule) const;
  bool placeDeep(ScheduleAttr schedule);
  bool place(int64_t width, bool shares, int64_t buffers,
             ScheduleAttr schedule);
};

} // namespace mlir::tenon

#endif // TENON_SCHEDULE_WGMMA_SUBTILELAYOUT_H
