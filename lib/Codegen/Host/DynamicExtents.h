//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Names of the dynamic extents of a function's tensors.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_HOST_DYNAMICEXTENTS_H
#define TENON_LIB_CODEGEN_HOST_DYNAMICEXTENTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/EquivalenceClasses.h"

#include <string>

namespace mlir::tenon {

/// Names the dynamic first extents of a function's tensors: tensors that meet
/// in an op have equal ones.
class DynamicExtents {
public:
  explicit DynamicExtents(func::FuncOp function);

  /// The name of a value's first extent; empty if no argument has it.
  std::string lookup(Value value) const;

private:
  /// All that an op touches has one M: its operands, results and regions.
  void unite(Operation *op);
  void addName(Value value);

  llvm::EquivalenceClasses<void *> classes;
  llvm::DenseMap<void *, std::string> names;
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_HOST_DYNAMICEXTENTS_H
