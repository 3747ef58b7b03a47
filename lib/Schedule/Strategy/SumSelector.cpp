//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What keeps layers whose products are added up from one kernel.
//
//===----------------------------------------------------------------------===//

#include "SumSelector.h"

#include "tenon/Schedule/Checks/Schedule.h"

using namespace mlir;
using namespace mlir::tenon;

/// TMA fills what K lacks of a tile, but needs rows of whole 16 bytes of each x
/// and w.
std::optional<Reason> SumSelector::findObstacle() {
  for (LinearLikeOp layer : ArrayRef(layers).drop_front())
    if (auto obstacle = findSumObstacle(layer))
      return obstacle;
  for (LinearLikeOp layer : layers) {
    std::string problem = findExtentProblem(
        KernelFamily::Wgmma, getTiledInputType(layer, ProductMethod::Direct),
        layer.getK());
    if (!problem.empty())
      return Reason(ReasonCode::FamilySince, "no kernel adds up the products",
                    problem);
  }
  return std::nullopt;
}
