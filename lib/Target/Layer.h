//===- Layer.h - A linear layer, fused or not -------------------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_TARGET_LAYER_H
#define TENON_LIB_TARGET_LAYER_H

#include "Heuristics.h"

namespace mlir::tenon {

/// A `tenon.linear` or a `tenon.fused_linear`.
struct Layer {
  explicit Layer(LinearOp op);
  explicit Layer(FusedLinearOp op);

  Operation *op;
  Value x, w;
  std::optional<Precision> precision;
  RankedTensorType product; ///< what the accumulator is rounded to, [M, N]

  Type getInputType() const {
    return cast<RankedTensorType>(x.getType()).getElementType();
  }
};

/// Why a layer cannot be tiled.
struct TiledObstacle {
  std::string reason;
  std::string suggestion; ///< "" if nothing can be done
};

std::optional<TiledObstacle> findTiledObstacle(const Layer &layer);

/// The element type of a tiled kernel's x and w: that of the layer's, or what
/// f32 is cast to for its precision.
Type getTiledInputType(const Layer &layer);

/// What the prediction of times needs to know of a layer that can be tiled.
LayerProblem describeProblem(const Layer &layer);

/// What a tiled kernel can read for `operand`, x or w: itself, or what was made
/// of it for a layer before; null if there is none yet.
Value findFitting(Value operand, const Layer &layer);

/// Makes the operands fit a tiled kernel: casts x and w to 16 bits, or rounds
/// them to tf32 for a family that does not, as the precision allows. Changes
/// nothing that fits already.
void fitOperands(const Layer &layer, KernelFamily family, OpBuilder &builder);

} // namespace mlir::tenon

#endif // TENON_LIB_TARGET_LAYER_H
