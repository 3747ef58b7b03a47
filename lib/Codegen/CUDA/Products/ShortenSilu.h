//===- ShortenSilu.h - silu by exp2 -----------------------------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_PRODUCTS_SHORTENSILU_H
#define TENON_LIB_CODEGEN_CUDA_PRODUCTS_SHORTENSILU_H

#include "tenon/Dialect/Tenon/IR/Tenon.h"

namespace mlir::tenon {

/// Makes each silu of 16 bits in the region `x * sigmoid(x)`, which is a third
/// of the instructions, if the op's kernel has registers for it.
void shortenSilu(TiledLinearOp op);

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_PRODUCTS_SHORTENSILU_H
