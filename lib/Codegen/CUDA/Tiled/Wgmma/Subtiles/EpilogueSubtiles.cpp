//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The subtiles of a TiledLinearOp.
//
//===----------------------------------------------------------------------===//

#include "EpilogueSubtiles.h"

using namespace mlir;
using namespace mlir::tenon;

std::optional<EpilogueSubtiles>
EpilogueSubtiles::choose(TiledLinearOp op, const TileGeometry &geometry) {
  std::optional<SubtileLayout> layout = SubtileLayout::choose(
      *op.getBody(), op.getInputs(), op.getOutputs(), geometry.schedule);
  if (!layout)
    return std::nullopt;
  return EpilogueSubtiles{std::move(*layout)};
}

TensorMapAttr EpilogueSubtiles::getMap(const SubtileTensor &tensor) const {
  return TensorMapAttr::get(tensor.matrix.getContext(),
                            {rows, getBoxColumns(tensor)}, tensor.rowBytes,
                            /*roundsTf32=*/false);
}
