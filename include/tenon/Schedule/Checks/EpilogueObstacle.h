//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which epilogues are computed tile by tile.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_SCHEDULE_CHECKS_EPILOGUEOBSTACLE_H
#define TENON_SCHEDULE_CHECKS_EPILOGUEOBSTACLE_H

#include "tenon/Dialect/Tenon/IR/Tenon.h"
#include "tenon/Remarks/Reason.h"

namespace mlir::tenon {

/// What keeps the epilogue of `op` from being computed tile by tile, if
/// anything does.
std::optional<Reason> findEpilogueObstacle(LinearLikeOp op);

/// The part of it that also keeps a kernel from reducing for a batch norm.
std::optional<Reason> findLengthObstacle(LinearLikeOp op);

} // namespace mlir::tenon

#endif // TENON_SCHEDULE_CHECKS_EPILOGUEOBSTACLE_H
