//===- Layer.h - A linear layer, fused or not -------------------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SCHEDULE_STRATEGY_LAYER_H
#define TENON_LIB_SCHEDULE_STRATEGY_LAYER_H

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
  int64_t getK() const {
    return cast<RankedTensorType>(w.getType()).getDimSize(1);
  }
  /// Whether f32 has to be multiplied as precisely as SGEMM does.
  bool isFp32() const {
    return getInputType().isF32() &&
           precision.value_or(Precision::FP32) == Precision::FP32;
  }
};

/// Why no kernel that multiplies by `method` and reduces so can have the layer,
/// whatever its schedule is besides.
std::optional<Reason> findTiledObstacle(const Layer &layer,
                                        ProductMethod method,
                                        ReductionMethod reduction);

/// Whether a training batch norm or its moments are part of the layer.
bool hasBatchNorm(const Layer &layer);

/// Whether what the layer's first reduction reduces depends on an operand with
/// rows beside the product.
bool reducesRowOperand(FusedLinearOp op);

/// Why kernels of `schedule` cannot reduce for the layer; "" if they can.
std::string findReductionProblem(const Layer &layer, ScheduleAttr schedule);

/// What keeps the layer's epilogue from being computed tile by tile.
std::optional<Reason> findEpilogueObstacle(const Layer &layer);

/// The methods to choose from for a layer that has no schedule yet: of two that
/// take the same time, the first is better.
SmallVector<ProductMethod> listMethods(const Layer &layer);

/// The element type of a tiled kernel's x and w: that of the layer's, or what
/// f32 is cast to for its precision or split into.
Type getTiledInputType(const Layer &layer, ProductMethod method);

EpilogueClass classifyEpilogue(const Layer &layer);

/// What the prediction of times needs to know of a layer that can be tiled.
LayerProblem describeProblem(const Layer &layer, ProductMethod method,
                             ReductionMethod reduction);

/// What a kernel that multiplies by `method` can read for `operand`, x or w:
/// itself, or what was made of it for a layer before; null if there is none
/// yet.
Value findFitting(Value operand, const Layer &layer, ProductMethod method);

/// Makes the operands fit a kernel: casts x and w to 16 bits, splits them, or
/// rounds them to tf32 for a family that does not, as precision and method ask.
/// Changes nothing that fits already.
void fitOperands(const Layer &layer, ScheduleAttr schedule, OpBuilder &builder);

} // namespace mlir::tenon

#endif // TENON_LIB_SCHEDULE_STRATEGY_LAYER_H
