//===- Passes.h - Passes on tensors -----------------------------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TRANSFORMS_PASSES_H
#define TENON_TRANSFORMS_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir::tenon {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "tenon/Transforms/Passes.h.inc"

} // namespace mlir::tenon

#endif // TENON_TRANSFORMS_PASSES_H
