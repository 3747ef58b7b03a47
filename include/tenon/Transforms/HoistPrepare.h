//===- HoistPrepare.h - Splitting a function into two -----------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TRANSFORMS_HOISTPREPARE_H
#define TENON_TRANSFORMS_HOISTPREPARE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::tenon {

/// Whether `op` costs nothing at run time, so that both functions may have it.
bool isFreeToRepeat(Operation *op);

/// Moves `hoisted`, ops of the entry block of which the last comes first, to a
/// new function `prepareName` before `function`, which becomes `runName` and
/// takes the results as arguments.
void splitFunction(func::FuncOp function,
                   const llvm::SetVector<Operation *> &hoisted,
                   StringRef prepareName, StringRef runName);

} // namespace mlir::tenon

#endif // TENON_TRANSFORMS_HOISTPREPARE_H
