//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Stores to global memory that a predicate may switch off.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_STORELANES_H
#define TENON_LIB_CODEGEN_CUDA_TILED_STORELANES_H

#include "Codegen/CUDA/Emit/KernelBuilder.h"

namespace mlir::tenon {

/// Stores `values`, cast to `elementType`, at `offset` elements from `pointer`,
/// where `condition` holds; always, if it is null. Predicated instructions
/// rather than a branch: code around them stays one block to ptxas.
void emitStoreLanes(KernelBuilder &b, Value pointer, Value offset,
                    Type elementType, ArrayRef<Value> values, Value condition);

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_STORELANES_H
