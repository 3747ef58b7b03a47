//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which ops may stand behind a product, in its region.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_TENON_IR_EPILOGUEOPS_H
#define TENON_DIALECT_TENON_IR_EPILOGUEOPS_H

#include "tenon/Dialect/Tenon/IR/Tenon.h"

namespace mlir::tenon {

/// Whether `op` may be in the region of a layer or of an epilogue: it is
/// elementwise, or reduces columns or rows, or repeats what was found of
/// groups.
inline bool isEpilogueOp(Operation *op) {
  return isa<ElementwiseEpilogueOp, ReductionEpilogueOp, ReduceRowOp,
             RepeatColumnsOp>(op);
}

} // namespace mlir::tenon

#endif // TENON_DIALECT_TENON_IR_EPILOGUEOPS_H
