//===- EpiloguePlan.h - An epilogue cut into phases ------------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_TENON_ANALYSIS_EPILOGUEPLAN_H
#define TENON_DIALECT_TENON_ANALYSIS_EPILOGUEPLAN_H

#include "tenon/Dialect/Tenon/IR/Tenon.h"

namespace mlir::tenon {

/// One walk over all elements. It computes `ops` on them, from `operands` and
/// from reductions that earlier phases ended in, and ends either in one more
/// reduction or, the last phase, in the region's results.
struct EpiloguePhase {
  /// What is computed element by element (or once a feature, or once), in
  /// order.
  SmallVector<Operation *> ops;
  /// The reductions among `ops`: this phase applies what they found.
  SmallVector<ReductionEpilogueOp> finished;
  /// The region's arguments that the phase reads, in order; moments are none of
  /// them.
  SmallVector<BlockArgument> operands;
  /// What the phase ends in; null in the last one.
  ReductionEpilogueOp reduction;

  /// Whether an op that is computed for each row takes many instructions.
  bool isHeavy() const;
  /// Whether an op divides.
  bool divides() const;
};

/// An epilogue's region as *map, then (reduce, map)* as often as needed. A
/// phase that follows a reduction computes what came before it anew: nothing is
/// kept between phases but the reductions' states. A reduction whose moments
/// are given has no phase that reduces: a later one finishes it.
class EpiloguePlan {
public:
  /// Cuts the body of a `tenon.fused_linear` or `tenon.epilogue`. Fails, with a
  /// message, where an op reads a reduction's per-column result.
  static FailureOr<EpiloguePlan> get(Block &body);

  /// All that `roots`, values of `body`, depend on.
  static EpiloguePhase getPhase(Block &body, ValueRange roots);

  ArrayRef<EpiloguePhase> getPhases() const { return phases; }
  /// Whether the first phase reads an argument with rows beside the region's
  /// first, which is a linear layer's product.
  bool readsRowOperandFirst() const;
  /// The extents that all values of the region broadcast to, as [M, N].
  std::array<int64_t, 2> getShape() const { return shape; }

  /// Whether a value of `type` differs from row to row, or column to column.
  static bool variesByRow(Type type);
  static bool variesByColumn(Type type);

  /// The region's argument that holds `reduction`'s moments, mean and M2 of
  /// each `getMomentRows` rows; null if it has to reduce its input.
  static Value getMoments(ReductionEpilogueOp reduction);
  static int64_t getMomentRows(ReductionEpilogueOp reduction);
  /// Whether an argument holds moments, whose rows are not those of [M, N].
  static bool isMoments(BlockArgument argument);

private:
  SmallVector<EpiloguePhase> phases;
  std::array<int64_t, 2> shape = {1, 1};
};

} // namespace mlir::tenon

#endif // TENON_DIALECT_TENON_ANALYSIS_EPILOGUEPLAN_H
