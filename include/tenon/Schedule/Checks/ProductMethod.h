//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How kernels multiply, and how precisely.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_SCHEDULE_CHECKS_PRODUCTMETHOD_H
#define TENON_SCHEDULE_CHECKS_PRODUCTMETHOD_H

#include "tenon/Dialect/Tenon/IR/Tenon.h"
#include "tenon/Remarks/Reason.h"

namespace mlir::tenon {

/// Says why products of x and w of `elementType`, [M, `k`] and [N, `k`], by
/// `method` are not what `precision` (none: the type's own) asks; "" if they
/// are.
std::string findPrecisionProblem(ProductMethod method, Type elementType,
                                 std::optional<Precision> precision, int64_t k);

/// Why tiled kernels that multiply by `method` cannot take operands of
/// `elementType` that lie so.
std::optional<Reason> findLayoutProblem(ProductMethod method, Type elementType,
                                        std::optional<OperandLayout> layout);

} // namespace mlir::tenon

#endif // TENON_SCHEDULE_CHECKS_PRODUCTMETHOD_H
