//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SCHEDULE_STRATEGY_FITOPERANDS_H
#define TENON_LIB_SCHEDULE_STRATEGY_FITOPERANDS_H

#include "Layer.h"

namespace mlir::tenon {

/// What a kernel that multiplies by `method` can read for `operand`, x or w of
/// the layer and perhaps `transposed`: itself, or what was made of it for a
/// layer before; null if there is none yet.
Value findFitting(Value operand, bool transposed, LinearLikeOp layer,
                  ProductMethod method);

/// Makes the operands fit a kernel: casts x and w to 16 bits, splits them, or
/// rounds them to tf32 for a family that does not, as precision and method ask.
/// Changes nothing that fits already.
void fitOperands(LinearLikeOp layer, ScheduleAttr schedule, OpBuilder &builder);

/// Casts x and w of 8 bits to f16, which holds their numbers.
void widenOperands(LinearLikeOp layer);

} // namespace mlir::tenon

#endif // TENON_LIB_SCHEDULE_STRATEGY_FITOPERANDS_H
