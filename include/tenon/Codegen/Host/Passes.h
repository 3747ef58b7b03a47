//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_CODEGEN_HOST_PASSES_H
#define TENON_CODEGEN_HOST_PASSES_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::tenon {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "tenon/Codegen/Host/Passes.h.inc"

} // namespace mlir::tenon

#endif // TENON_CODEGEN_HOST_PASSES_H
