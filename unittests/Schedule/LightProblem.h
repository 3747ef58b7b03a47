//===- LightProblem.h - Layers to predict times of --------------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_UNITTESTS_SCHEDULE_LIGHTPROBLEM_H
#define TENON_UNITTESTS_SCHEDULE_LIGHTPROBLEM_H

#include "Schedule/Prediction/LayerProblem.h"

namespace mlir::tenon {

/// A layer with a light epilogue that the library has not.
inline LayerProblem getLightProblem(Type type, int64_t m, int64_t n,
                                    int64_t k) {
  int64_t bytes = type.getIntOrFloatBitWidth() / 8;
  LayerProblem problem;
  problem.m = m;
  problem.n = n;
  problem.k = k;
  problem.libraryType = problem.tiledType = type;
  problem.libraryDoesAll = false;
  problem.productBytes = problem.epilogueBytes =
      static_cast<double>(bytes * m * n);
  problem.matrixBytes = {bytes};
  return problem;
}

} // namespace mlir::tenon

#endif // TENON_UNITTESTS_SCHEDULE_LIGHTPROBLEM_H
