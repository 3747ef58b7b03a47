//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a reduction within a kernel takes, computed in registers.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_REDUCEDINPUT_H
#define TENON_LIB_CODEGEN_CUDA_TILED_REDUCEDINPUT_H

#include "Codegen/CUDA/Emit/ElementEmitter.h"
#include "WorkPartition.h"

namespace mlir::tenon {

/// Turns a tile's accumulators into `value`, which `phase` gives, in their
/// places. Threads load operands with rows themselves, those of a few blocks of
/// 8 columns before one is computed.
///
/// `setKnown` tells an emitter operands that are in registers or in shared
/// memory, of this thread's columns of a block by number.
SmallVector<Value> emitReducedInput(
    TiledFrame &frame, TiledLinearOp op, const EpiloguePhase &phase,
    Value value, const WorkItem &item, ValueRange accumulators,
    llvm::function_ref<void(ElementEmitter &, int64_t block)> setKnown);

/// Neighbouring blocks of 8 columns, of a warp's.
struct ColumnBlocks {
  int64_t first, count;
};

/// The same of `value`, which `phase` computes, but the four elements of each
/// block of 16 rows by 8 columns are given to `take`, with its number among the
/// accumulators. Of `columns`, if not of all.
void emitOnFragments(
    TiledFrame &frame, TiledLinearOp op, const EpiloguePhase &phase,
    Value value, const WorkItem &item, ValueRange accumulators,
    llvm::function_ref<void(ElementEmitter &, int64_t block)> setKnown,
    llvm::function_ref<void(int64_t block, ArrayRef<Value> elements)> take,
    std::optional<ColumnBlocks> columns = std::nullopt);

/// Puts the source of `phase`, if it has one, in the place of the elements that
/// it is made of, of all columns or some. `readsAnew`: where it is read again
/// for each reduction and where it is stored. Else LLVM would make a part of it
/// part of what reads it, a product and a sum one operation, and keep what it
/// is made of.
void computeSource(TiledFrame &frame, TiledLinearOp op, const RowPhase &phase,
                   const WorkItem &item, bool readsAnew,
                   MutableArrayRef<Value> elements,
                   std::optional<ColumnBlocks> columns = std::nullopt);

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_REDUCEDINPUT_H
