//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Functions that are spelled out in tenon ops, as activations are.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CONVERSION_RAISELINALG_FUNCTIONS_H
#define TENON_LIB_CONVERSION_RAISELINALG_FUNCTIONS_H

#include "mlir/IR/PatternMatch.h"

namespace mlir::tenon {

/// relu, sigmoid, silu, gelu, and the mean of a row.
void populateFunctionPatterns(RewritePatternSet &patterns);

} // namespace mlir::tenon

#endif // TENON_LIB_CONVERSION_RAISELINALG_FUNCTIONS_H
