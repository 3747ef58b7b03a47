//===- LoopNest.h - Emits loops and index arithmetic ------------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CPU_LOOPNEST_H
#define TENON_LIB_CODEGEN_CPU_LOOPNEST_H

#include "tenon/Codegen/CPU/Passes.h"

namespace mlir::tenon {

/// Emits at the builder's place; the bodies that it is given emit through the
/// same builder.
struct LoopNest {
  OpBuilder &builder;
  Location loc;

  Value index(int64_t value);
  Value add(Value a, Value b);
  Value sub(Value a, Value b);
  Value mul(Value a, int64_t b);
  Value min(Value a, Value b);
  /// For values that are not negative.
  Value ceilDiv(Value a, int64_t b);
  Value floorTo(Value a, int64_t multiple);
  Value ceilTo(Value a, int64_t multiple);
  Value less(Value a, Value b);
  Value dim(Value memref, int64_t dim);

  void loop(Value begin, Value end, int64_t step,
            function_ref<void(Value)> body);
  void parallel(ValueRange counts, function_ref<void(ValueRange)> body);
  /// A null `otherwise` emits no else.
  void branch(Value condition, function_ref<void()> then,
              function_ref<void()> otherwise = nullptr);
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CPU_LOOPNEST_H
