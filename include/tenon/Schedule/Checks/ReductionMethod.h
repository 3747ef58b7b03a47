//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which layers each way to reduce a product can serve.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_SCHEDULE_CHECKS_REDUCTIONMETHOD_H
#define TENON_SCHEDULE_CHECKS_REDUCTIONMETHOD_H

#include "tenon/Dialect/Tenon/IR/Tenon.h"

namespace mlir::tenon {

/// Says in a sentence why kernels cannot compute `op` as the schedule's
/// reduction says; "" if they can, or if it is separate. Whether a target has
/// room for all tiles at once, as resident asks, is not known here.
std::string findReductionProblem(LinearLikeOp op, ScheduleAttr schedule);

/// What keeps tiles of a schedule with reduction = in_tile from having whole
/// rows of N columns, each in one turn, or where groups of `columns` are
/// reduced whole groups; "" if they have them.
std::string findWholeRowProblem(ScheduleAttr schedule, int64_t n,
                                int64_t columns);

/// What keeps tiles of a schedule with reduction = reduce_only from giving
/// parts of rows of N columns; "" if they give them.
std::string findPartTileProblem(ScheduleAttr schedule, int64_t n);

/// What keeps tiles of a schedule with reduction = resident_rows from having
/// parts of rows, or of their groups, of `columns` columns; "" if they have
/// them.
std::string findResidentRowProblem(ScheduleAttr schedule, int64_t n,
                                   int64_t columns);

/// Where rows, or groups of `columns` of their N columns, are reduced: columns
/// of the tiles of mma_sync kernels beside that of the schedule, for pointers
/// that are not aligned, or which compute anew what a split does not hold. 0 if
/// groups have no such tiles.
int64_t getColumnsBeside(ScheduleAttr schedule, int64_t n, int64_t columns);

/// What is done to each element of a column: times, or plus, a number or the
/// column's element of a vector.
struct AffineStep {
  bool isScale;
  Value operand;     ///< of the region; null for a number
  double scalar = 0; ///< without an operand
};

/// What the region of `op` does to the product before `norm`, in order; nothing
/// if it is other than such steps and changes of type.
std::optional<SmallVector<AffineStep>>
findAffineSteps(FusedLinearOp op, BatchNormTrainingOp norm);
/// The same of another op's region, where `product` is the accumulator.
std::optional<SmallVector<AffineStep>>
findAffineSteps(Value product, BatchNormTrainingOp norm);

/// What a resident kernel keeps of a tile until `norm` is finished: the norm's
/// input, or where something else reads what comes before it, the first such
/// value, if AffineSteps give the input of it. `product` is the accumulator.
Value findKept(Value product, BatchNormTrainingOp norm);

/// What the product's kernel of a layer with a reduction stores with reduction
/// = two_phase: what a reduction is of, if one is of a result, of that; or a
/// result of which all else follows that comes before.
Value getStored(FusedLinearOp op);

/// Whether what the layer's first reduction reduces depends on an operand with
/// rows beside the product.
bool reducesRowOperand(FusedLinearOp op);

} // namespace mlir::tenon

#endif // TENON_SCHEDULE_CHECKS_REDUCTIONMETHOD_H
