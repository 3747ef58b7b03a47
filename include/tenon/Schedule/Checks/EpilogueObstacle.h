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

/// What makes an epilogue long to compile tile by tile: of one layer, or of
/// several together.
struct EpilogueLength {
  unsigned matrices = 0; ///< that it reads and writes
  unsigned ops = 0, heavyOps = 0, divisions = 0;

  void add(LinearLikeOp op);
  std::optional<Reason> findObstacle() const;
};

/// What keeps the epilogue of `op` from being computed tile by tile, if
/// anything does.
std::optional<Reason> findEpilogueObstacle(LinearLikeOp op);

/// The part of it that also keeps a kernel from reducing for a batch norm.
std::optional<Reason> findLengthObstacle(LinearLikeOp op);

} // namespace mlir::tenon

#endif // TENON_SCHEDULE_CHECKS_EPILOGUEOBSTACLE_H
