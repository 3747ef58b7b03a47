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
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/EquivalenceClasses.h"

#include <optional>
#include <string>

namespace mlir::tenon {

/// Names the dynamic first extents of a function's tensors: tensors that meet
/// in an op have equal ones, and one that is cast to a static extent has that.
class DynamicExtents {
public:
  explicit DynamicExtents(func::FuncOp function);

  /// Fails, with a message, at an op of which no check of the arguments says
  /// whether its extents fit.
  LogicalResult verify();

  /// The name of a value's first extent; empty if no argument has it.
  std::string lookup(Value value) const;
  /// What a value's first extent has to be, if that is known.
  std::optional<int64_t> lookupStatic(Value value) const;

private:
  void add(Operation *op);
  void addLoops(linalg::LinalgOp nest);
  void *getLeader(Value value) const;
  /// All of these have one M.
  void unite(ValueRange values);
  void uniteSize(Value result, OpFoldResult size);
  bool isExtent(OpFoldResult size, Value value, int64_t dimension) const;
  LogicalResult verifyCast(Operation *op);
  LogicalResult verifyNew(Operation *op);
  template <typename SliceOp>
  LogicalResult verifySlice(SliceOp op, Value sliced);

  func::FuncOp function;
  llvm::EquivalenceClasses<void *> classes;
  llvm::DenseMap<void *, std::string> names;
  llvm::DenseMap<void *, int64_t> known;
  /// Results whose M is computed, of which only the op knows it.
  SmallVector<Value> computed;
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_HOST_DYNAMICEXTENTS_H
