//===- LinalgMap.h - Elementwise loops on tensors ---------------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CPU_LINALGMAP_H
#define TENON_LIB_CODEGEN_CPU_LINALGMAP_H

#include "tenon/Codegen/CPU/Passes.h"

namespace mlir::tenon {

/// `value` as a float of another type.
Value convertFloat(OpBuilder &builder, Location loc, Value value, Type type);

/// The extent of `tensor` along `dim`, found without using the ops that fill
/// the tensor, so that they stay free to be fused.
OpFoldResult getExtent(OpBuilder &builder, Location loc, Value tensor,
                       int64_t dim);

/// How a tensor of `shape`, broadcast to `shape.size() <= loops` dimensions of
/// extents `loopShape`, is read by loops over `loopShape`.
AffineMap getBroadcastMap(MLIRContext *context, ArrayRef<int64_t> shape,
                          ArrayRef<int64_t> loopShape);

/// From the inputs' elements, the elements of the results.
using MapBody =
    function_ref<SmallVector<Value>(OpBuilder &, Location, ValueRange)>;

/// Emits one elementwise `linalg.generic` over `shape` with a result of each
/// element type; `inputs` broadcast to `shape`.
SmallVector<Value> emitMap(OpBuilder &builder, Location loc, ValueRange inputs,
                           ArrayRef<int64_t> shape, TypeRange elementTypes,
                           MapBody body);

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CPU_LINALGMAP_H
