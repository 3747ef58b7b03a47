//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lists a wgmma kernel's tensor maps.
//
//===----------------------------------------------------------------------===//

#include "TensorMaps.h"

#include "EpilogueSubtiles.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::tenon;

SmallVector<TensorMapUse> tenon::getTensorMaps(TiledLinearOp op,
                                               const TileGeometry &geometry) {
  // The blocks of a cluster that need the same rows copy an equal part of them
  // each. f32 is rounded to tf32 on the way: wgmma would cut it off. What lies
  // along M or N is copied in boxes as wide as the swizzle.
  auto getMap = [&](int64_t rows, bool isTurned) {
    SmallVector<int64_t> box{rows, geometry.tileK};
    if (isTurned)
      box = {geometry.tileK, geometry.turnedExtent()};
    return TensorMapAttr::get(op.getContext(), box, geometry.rowBytes,
                              /*roundsTf32=*/geometry.elementType.isF32());
  };
  TensorMapAttr ofX =
      getMap(geometry.tileM / geometry.clusterN, geometry.turnsX);
  TensorMapAttr ofW =
      getMap(geometry.tileN / geometry.clusterM, geometry.turnsW);
  SmallVector<TensorMapUse> uses{{op.getX(), ofX}};
  for (Value w : op.getWeights())
    uses.push_back({w, ofW});
  for (unsigned term = 1; term != op.getNumTerms(); ++term) {
    auto [x, w] = op.getTerm(term);
    uses.push_back({x, ofX});
    uses.push_back({w, ofW});
  }
  if (auto subtiles = EpilogueSubtiles::choose(op, geometry))
    for (const auto &tensors : {subtiles->operands, subtiles->results})
      for (const SubtileTensor &tensor : tensors)
        uses.push_back({tensor.matrix, subtiles->getMap(tensor)});
  return uses;
}

void tenon::emitTensorLoad(KernelBuilder &b, Value map, Value column, Value row,
                           Value target, Value barrier, Value mask,
                           Value policy) {
  auto cluster = LLVM::LLVMPointerType::get(
      b.getContext(),
      static_cast<unsigned>(NVVM::NVVMMemorySpace::SharedCluster));
  NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp::create(
      b, LLVM::AddrSpaceCastOp::create(b, cluster, target), map,
      ValueRange{column, row}, barrier, /*im2colOffsets=*/ValueRange(), mask,
      policy, NVVM::TMALoadMode::TILE, /*isCTAOnly=*/false,
      /*group=*/NVVM::CTAGroupKindAttr(), /*predicate=*/Value());
}
