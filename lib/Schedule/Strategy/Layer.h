//===- Layer.h - What there is to know of a layer ---------------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SCHEDULE_STRATEGY_LAYER_H
#define TENON_LIB_SCHEDULE_STRATEGY_LAYER_H

#include "Heuristics.h"

namespace mlir::tenon {

/// Why no kernel that multiplies by `method` and reduces so can have the layer,
/// whatever its schedule is besides.
std::optional<Reason> findTiledObstacle(LinearLikeOp layer,
                                        ProductMethod method,
                                        ReductionMethod reduction);

/// Whether a training batch norm or its moments are part of the layer.
bool hasBatchNorm(LinearLikeOp layer);

/// Whether what the layer's first reduction reduces depends on an operand with
/// rows beside the product.
bool reducesRowOperand(FusedLinearOp op);

/// The methods to choose from for a layer that has no schedule yet: of two that
/// take the same time, the first is better.
SmallVector<ProductMethod> listMethods(LinearLikeOp layer);

/// The element type of a tiled kernel's x and w: that of the layer's, or what
/// f32 is cast to for its precision or split into.
Type getTiledInputType(LinearLikeOp layer, ProductMethod method);

EpilogueClass classifyEpilogue(LinearLikeOp layer);

/// What the prediction of times needs to know of a layer that can be tiled.
LayerProblem describeProblem(LinearLikeOp layer, ProductMethod method,
                             ReductionMethod reduction);

/// What a kernel that multiplies by `method` can read for `operand`, x or w:
/// itself, or what was made of it for a layer before; null if there is none
/// yet.
Value findFitting(Value operand, LinearLikeOp layer, ProductMethod method);

/// Makes the operands fit a kernel: casts x and w to 16 bits, splits them, or
/// rounds them to tf32 for a family that does not, as precision and method ask.
/// Changes nothing that fits already.
void fitOperands(LinearLikeOp layer, ScheduleAttr schedule, OpBuilder &builder);

} // namespace mlir::tenon

#endif // TENON_LIB_SCHEDULE_STRATEGY_LAYER_H
