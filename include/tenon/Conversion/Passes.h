//===- Passes.h - From other dialects to tenon's ----------------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_CONVERSION_PASSES_H
#define TENON_CONVERSION_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir::tenon {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "tenon/Conversion/Passes.h.inc"

} // namespace mlir::tenon

#endif // TENON_CONVERSION_PASSES_H
