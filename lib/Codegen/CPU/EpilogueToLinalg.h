//===- EpilogueToLinalg.h - Epilogue ops as linalg --------------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CPU_EPILOGUETOLINALG_H
#define TENON_LIB_CODEGEN_CPU_EPILOGUETOLINALG_H

#include "tenon/Dialect/Tenon/IR/Tenon.h"

#include "mlir/IR/IRMapping.h"

namespace mlir::tenon {

/// Lowers a list of epilogue ops to linalg at the builder's place. `tensors`
/// maps values from outside to the tensors that stand for them; a value it does
/// not know stands for itself. Appends to `results` the tensors for `yielded`,
/// each of its value's type; other intermediates stay in the compute type.
void lowerEpilogue(OpBuilder &builder, ArrayRef<Operation *> ops,
                   ValueRange yielded, IRMapping &tensors,
                   SmallVectorImpl<Value> &results);

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CPU_EPILOGUETOLINALG_H
