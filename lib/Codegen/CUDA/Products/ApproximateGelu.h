//===- ApproximateGelu.h - As exact as its operand --------------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_PRODUCTS_APPROXIMATEGELU_H
#define TENON_LIB_CODEGEN_CUDA_PRODUCTS_APPROXIMATEGELU_H

#include "tenon/Dialect/Tenon/IR/Tenon.h"

namespace mlir::tenon {

/// Makes each exact gelu of f32 in the region, if it depends on the product,
/// `approximate<tf32>`. The product is of that precision.
void approximateGelu(TiledLinearOp op);

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_PRODUCTS_APPROXIMATEGELU_H
