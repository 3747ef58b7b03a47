//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sizes of a layer.
//
//===----------------------------------------------------------------------===//

#include "LayerProblem.h"

using namespace mlir;
using namespace mlir::tenon;

int64_t LayerProblem::getTiledColumns() const {
  unsigned parts = getTraits(method).parts;
  return parts == 0 ? k : SplitOp::getNumColumns(k, parts);
}

double LayerProblem::getOperations() const {
  return getTraits(method).getOperations();
}

double LayerProblem::getOperandBytes() const {
  return static_cast<double>(m + weights * n) *
         static_cast<double>(getTiledColumns()) *
         (tiledType.getIntOrFloatBitWidth() / 8);
}

double LayerProblem::getTiledBytes() const {
  double written =
      reduction == ReductionMethod::TwoPhase ? reducedBytes : productBytes;
  return getOperandBytes() + (tiledDoesAll ? epilogueBytes : written);
}
