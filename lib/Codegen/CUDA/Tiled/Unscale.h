//===- Unscale.h - The scale of split rows ----------------------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_UNSCALE_H
#define TENON_LIB_CODEGEN_CUDA_TILED_UNSCALE_H

#include "tenon/Dialect/Tenon/IR/Tenon.h"

namespace mlir::tenon {

/// Takes the scale of split rows out of their product: the op's region begins
/// with that, and sees what the accumulators stand for. The factors become
/// arguments of the region behind those of the inputs (TiledFrame knows), so
/// that an epilogue loads them as it does its operands. Nothing happens to an
/// op whose rows are not split.
///
/// Before:
/// ```mlir
/// epilogue(%acc: tensor<?x32xf32>) {
///   tenon.yield %acc : tensor<?x32xf32>
/// ```
/// After:
/// ```mlir
/// epilogue(%acc: tensor<?x32xf32>, %fx: tensor<?x1xf32>, %fw: tensor<32xf32>)
/// {
///   %0 = tenon.mul %acc, %fw : tensor<?x32xf32>, tensor<32xf32>
///   %product = tenon.mul %0, %fx : tensor<?x32xf32>, tensor<?x1xf32>
///   tenon.yield %product : tensor<?x32xf32>
/// ```
void addUnscale(TiledLinearOp op);

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_UNSCALE_H
