//===- Parameters.h - What depends on parameters alone ----------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TRANSFORMS_PARAMETERS_H
#define TENON_TRANSFORMS_PARAMETERS_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::tenon {

/// What a value depends on, from the least to the most.
enum class Dependence {
  Nothing,    ///< A constant.
  Parameters, ///< Arguments marked `tenon.param` or `tenon.prepared`.
  Call,       ///< Something else: other arguments, memory, control flow.
};

/// Finds out what values depend on, and remembers it. Stays valid while ops are
/// added, not while they change.
class DependenceAnalysis {
public:
  Dependence of(Value value);
  /// What the results of `op` depend on: all that it reads, in its regions too.
  Dependence of(Operation *op);

private:
  llvm::DenseMap<Operation *, Dependence> known;
};

/// The values that `op` reads: its operands and what its regions capture.
SmallVector<Value> getReadValues(Operation *op);

} // namespace mlir::tenon

#endif // TENON_TRANSFORMS_PARAMETERS_H
