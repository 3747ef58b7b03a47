//===- RowParts.h - Reductions of rows by parts -----------------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_SCHEDULE_CHECKS_ROWPARTS_H
#define TENON_SCHEDULE_CHECKS_ROWPARTS_H

#include "tenon/Dialect/Tenon/IR/Tenon.h"

#include "llvm/ADT/SmallPtrSet.h"

namespace mlir::tenon {

/// What is reduced of each part of a row, so that the whole row's follows.
struct RowPart {
  /// A matrix that depends on no reduction of rows.
  Value input;
  /// Unless null, the sum is of exp(input - shift), and `shift` is a row's, of
  /// reductions. A part sums exp(input - m), m its own maximum; of the row's
  /// sum that is a term when it has been multiplied by exp(m - shift).
  Value shift;
  /// Then the sum is of (input - shift)^2 in its place, and `shift` the mean of
  /// input. Of a part of c columns, relative to its own mean m, it lacks
  /// c (m - shift)^2.
  bool isSquare = false;
};

/// The reductions of rows in a layer's region.
class RowParts {
public:
  /// What stands for a reduction's result.
  using Results = llvm::SmallDenseMap<Value, ReduceRowOp, 4>;

  explicit RowParts(Block &body);
  /// Of a region in which something else has the results' place.
  RowParts(Block &body, Results results);

  /// How `op`, one of them, follows from parts; nothing if it needs the row.
  std::optional<RowPart> find(ReduceRowOp op) const;
  /// The same, squares among it.
  std::optional<RowPart> findAny(ReduceRowOp op) const;
  /// Whether a value depends on a reduction of rows.
  bool isReduced(Value value) const { return reduced.contains(value); }

private:
  Results results;
  llvm::SmallPtrSet<Value, 16> reduced;
};

/// Says in a sentence what keeps a region's reductions from a tile; "" if
/// nothing does.
std::string findNumbersProblem(Block &body);

/// Says in a sentence why a layer's results do not follow from what parts of
/// rows are reduced to; "" if they do.
std::string findRowPartsProblem(LinearLikeOp layer);

/// Says in a sentence why tiles that exchange a few numbers a row cannot finish
/// a layer's reductions of rows; "" if they can.
std::string findRowExchangeProblem(LinearLikeOp layer);

/// Columns of the layer that are reduced together.
int64_t getReducedColumns(LinearLikeOp layer);

} // namespace mlir::tenon

#endif // TENON_SCHEDULE_CHECKS_ROWPARTS_H
