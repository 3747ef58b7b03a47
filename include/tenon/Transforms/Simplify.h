//===- Simplify.h - What the algebraic rules share --------------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A rule is *exact* if it gives the same bits, as long as no value overflows or
// becomes subnormal on the way. f16 overflows at 65504, which ordinary values
// reach, so a rule that can move a value out of range is not exact there.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TRANSFORMS_SIMPLIFY_H
#define TENON_TRANSFORMS_SIMPLIFY_H

#include "tenon/Dialect/Tenon/IR/Tenon.h"

namespace mlir::tenon {

/// Which rules may be applied besides the exact ones.
struct SimplifyRules {
  bool roundingChanges;
  bool rescaledStatistics;
};

/// `value` as arithmetic on tensors of `elementType` sees it.
double roundToComputeType(double value, Type elementType);

/// The constant factor of `op`, as its arithmetic sees it; nothing if the
/// factor is a tensor.
std::optional<double> getConstantFactor(MulOp op);

/// Plus or minus a power of two: multiplication by it only moves the exponent.
bool isPowerOfTwo(double value);

/// Whether `value` is neither 0, subnormal, infinite nor NaN in the type that
/// arithmetic on `elementType` is carried out in.
bool isNormalFactor(double value, Type elementType);

/// Whether tensors of `elementType` hold the exponents that f32 holds.
bool hasWideRange(Type elementType);

/// Whether `op` is in the region of a fused op, where only what reads the
/// product may be written.
bool isInEpilogue(Operation *op);

/// Reports that rule `name` replaced `op`, and whether rounding changes.
void remarkSimplified(Operation *op, StringRef name, StringRef what,
                      bool exact);

void populateMergeScalingsPatterns(RewritePatternSet &patterns,
                                   SimplifyRules rules);
void populateScaleBeforeReluPatterns(RewritePatternSet &patterns,
                                     SimplifyRules rules);
void populateScaleBeforeBatchNormPatterns(RewritePatternSet &patterns,
                                          SimplifyRules rules);
// Rules that always change rounding.
void populateCancelBiasPatterns(RewritePatternSet &patterns);
void populateBatchNormInferencePatterns(RewritePatternSet &patterns);
void populateFoldScalePatterns(RewritePatternSet &patterns);

} // namespace mlir::tenon

#endif // TENON_TRANSFORMS_SIMPLIFY_H
