//===- Passes.h - The choice of strategy ------------------------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_SCHEDULE_PASSES_H
#define TENON_SCHEDULE_PASSES_H

#include "tenon/Dialect/Tenon/IR/Tenon.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::tenon {
#define GEN_PASS_DECL
#include "tenon/Schedule/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "tenon/Schedule/Passes.h.inc"
} // namespace mlir::tenon

#endif // TENON_SCHEDULE_PASSES_H
