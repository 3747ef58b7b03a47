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
};

/// The reductions of rows in a layer's region.
class RowParts {
public:
  explicit RowParts(Block &body);

  /// How `op`, one of them, follows from parts; nothing if it needs the row.
  std::optional<RowPart> find(ReduceRowOp op) const;
  /// Whether a value depends on a reduction of rows.
  bool isReduced(Value value) const { return reduced.contains(value); }

private:
  llvm::SmallPtrSet<Value, 16> reduced;
};

/// Says in a sentence why a layer's results do not follow from what parts of
/// rows are reduced to; "" if they do.
std::string findRowPartsProblem(LinearLikeOp layer);

} // namespace mlir::tenon

#endif // TENON_SCHEDULE_CHECKS_ROWPARTS_H
