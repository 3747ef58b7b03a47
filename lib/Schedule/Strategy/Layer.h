//===- Layer.h - What there is to know of a layer ---------------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SCHEDULE_STRATEGY_LAYER_H
#define TENON_LIB_SCHEDULE_STRATEGY_LAYER_H

#include "Schedule/Prediction/LayerProblem.h"

#include "tenon/Remarks/Reason.h"
#include "tenon/Schedule/Checks/LayerPair.h"
#include "tenon/Schedule/Checks/LayerSum.h"

namespace mlir::tenon {

/// Why no kernel that multiplies by `method` and reduces so can have the layer,
/// whatever its schedule is besides.
std::optional<Reason> findTiledObstacle(LinearLikeOp layer,
                                        ProductMethod method,
                                        ReductionMethod reduction);

/// Whether the layer's reduction along M is a sum.
bool sumsBatch(LinearLikeOp layer);

/// Whether a training batch norm or its moments are part of the layer.
bool hasBatchNorm(LinearLikeOp layer);

/// Whether rows are reduced in the layer.
bool reducesRows(LinearLikeOp layer);

/// The methods to choose from for a layer that has no schedule yet: of two that
/// take the same time, the first is better.
SmallVector<ProductMethod> listMethods(LinearLikeOp layer);

/// The element type of a tiled kernel's x and w: that of the layer's, or what
/// f32 is cast to for its precision or split into.
Type getTiledInputType(LinearLikeOp layer, ProductMethod method);
/// That of what the library multiplies: f16 in the place of 8 bits.
Type getLibraryInputType(LinearLikeOp layer);

EpilogueClass classifyEpilogue(LinearLikeOp layer);

/// What the prediction of times needs to know of a layer that can be tiled.
LayerProblem describeProblem(LinearLikeOp layer, ProductMethod method,
                             ReductionMethod reduction);

/// The same of two layers in one kernel.
LayerProblem describePair(const LayerPair &pair, ProductMethod method);

/// The same of layers whose products one kernel adds up.
LayerProblem describeSum(const LayerSum &sum, ProductMethod method);

/// The same of layers in one launch: a layer with the columns of all.
LayerProblem describeSiblings(ArrayRef<LinearLikeOp> layers,
                              ProductMethod method);

} // namespace mlir::tenon

#endif // TENON_LIB_SCHEDULE_STRATEGY_LAYER_H
